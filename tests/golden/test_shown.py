"""What a user or a program sees is what it saw when the golden files were written."""

from pathlib import Path

from tests.golden import output, packages
from tests.golden.files import check


def test_every_command_has_the_same_help() -> None:
    check("messages/help.txt", output.dump_help())


def test_commands_print_the_same_json(scenario_store: Path) -> None:
    check("commands.txt", output.dump_json_output(scenario_store))


def test_commands_print_the_same_text(scenario_store: Path) -> None:
    check("messages/commands.txt", output.dump_printed_text(scenario_store))


def test_every_operation_gives_the_same_answer() -> None:
    check("answers.jsonl", output.dump_answers())


def test_every_answer_has_the_same_form_over_mcp_and_grpc() -> None:
    check("transports.jsonl", output.dump_transport_answers())


def test_every_grpc_message_has_the_same_fields() -> None:
    check("grpc.jsonl", output.dump_messages())


def test_every_built_in_profile_ranks_with_the_same_scores() -> None:
    check("rankings.jsonl", output.dump_rankings())


def test_the_open_api_document_has_the_same_paths_and_schemas() -> None:
    check("openapi.txt", output.dump_open_api())


def test_the_open_api_document_has_the_same_sentences() -> None:
    check("messages/openapi.txt", output.dump_open_api_wording())


def test_an_mcp_server_says_the_same_of_itself() -> None:
    check("messages/mcp.jsonl", output.dump_mcp_session())


def test_a_server_shows_operators_the_same() -> None:
    check("messages/server.txt", output.dump_server())


def test_every_error_has_the_same_codes() -> None:
    check("errors.jsonl", output.dump_error_codes())


def test_every_setting_has_the_same_name_variable_and_default() -> None:
    check("settings.jsonl", output.dump_settings())


def test_a_start_loads_the_same_heavy_packages() -> None:
    check("packages.json", packages.dump_packages())
