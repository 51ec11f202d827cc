"""recollect profiles: which there are, what is in one, and whether yours is right."""

import re
from pathlib import Path

import click

from recollect import config
from recollect.cli import options, output
from recollect.cli.tune import tune
from recollect.ranking.profile_toml import profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES, PROFILE_TEXTS, builtin_profile
from recollect.render import text

REPORT_LINE_PATTERN = re.compile(r"^report *=.*\n", re.MULTILINE)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_context
def profiles(ctx: click.Context, as_json: bool) -> None:
    """List, show, check and tune rank profiles; alone it lists them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_profiles, as_json=as_json)


@profiles.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_profiles(as_json: bool) -> None:
    """List the built-in profiles."""
    if as_json:
        rows = [{"name": p.name, "version": p.version, "about": p.about} for p in BUILTIN_PROFILES.values()]
        output.print_json(rows)
    else:
        for profile in BUILTIN_PROFILES.values():
            click.echo(text.format_profile(profile))


@profiles.command()
@click.argument("name", shell_complete=options.complete_profiles)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every option spelled out.")
def show(name: str, as_json: bool) -> None:
    """Print the built-in profile NAME as written, ready to copy and change.

    Its report is not named there, for it does not tell of a copy that was changed.
    """
    profile = builtin_profile(name)
    if as_json:
        output.print_json({"name": profile.name, **profile_to_document(profile)})
    else:
        click.echo(REPORT_LINE_PATTERN.sub("", PROFILE_TEXTS[name]), nl=False)


@profiles.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every option spelled out.")
def check(file: Path, as_json: bool) -> None:
    """Check the profile in FILE, and say what is wrong with it if anything is.

    Numbers that differ from those of its report are wrong, and so are other numbers under a built-in profile's name.
    """
    profile = config.load_checked_profile_file(file)
    if as_json:
        output.print_json({"name": profile.name, **profile_to_document(profile)})
    else:
        measured = "" if profile.report is None else f", as {profile.report} tells of it"
        click.echo(f"{profile.name} {profile.version} is a sound profile{measured}")


profiles.add_command(tune)
