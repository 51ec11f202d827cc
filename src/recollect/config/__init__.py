"""What a user configures, read from where the user keeps it: settings, and profiles by name or file."""

from recollect.config.file import find_user_folder
from recollect.config.options import OPTIONS, PREFIX, Option
from recollect.config.origin import EnvironmentOrigin, FileOrigin
from recollect.config.profiles import load_checked_profile_file, load_configured_profile, load_profile_file, profile
from recollect.config.schema import ExtractionSettings, ServerSettings, Settings, UsageDecay
from recollect.config.sources import (
    Configuration,
    Sources,
    find_unknown_variables,
    load_configuration,
    load_file_configuration,
    load_settings,
    use_sources,
)
from recollect.config.zones import require_time_zone

__all__ = [
    "OPTIONS",
    "PREFIX",
    "Configuration",
    "EnvironmentOrigin",
    "ExtractionSettings",
    "FileOrigin",
    "Option",
    "ServerSettings",
    "Settings",
    "Sources",
    "UsageDecay",
    "find_unknown_variables",
    "find_user_folder",
    "load_checked_profile_file",
    "load_configuration",
    "load_configured_profile",
    "load_file_configuration",
    "load_profile_file",
    "load_settings",
    "profile",
    "require_time_zone",
    "use_sources",
]
