"""What a user configures, read from where the user keeps it: settings, and profiles by name or file."""

from recollect.config.file import users_folder
from recollect.config.options import OPTIONS, PREFIX, Option
from recollect.config.origin import InEnvironment, InFile
from recollect.config.profiles import checked_profile_file, configured_profile, profile, profile_file
from recollect.config.schema import ExtractionSettings, ServerSettings, Settings, UsageDecay
from recollect.config.sources import Configuration, Sources, configuration, of_file, settings, unheard, using
from recollect.config.zones import a_zone

__all__ = [
    "OPTIONS",
    "PREFIX",
    "Configuration",
    "ExtractionSettings",
    "InEnvironment",
    "InFile",
    "Option",
    "ServerSettings",
    "Settings",
    "Sources",
    "UsageDecay",
    "a_zone",
    "checked_profile_file",
    "configuration",
    "configured_profile",
    "of_file",
    "profile",
    "profile_file",
    "settings",
    "unheard",
    "users_folder",
    "using",
]
