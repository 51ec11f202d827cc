"""Whoever imports the messages or the stub of gRPC without what they need is told which extra brings it."""

import subprocess
import sys
from importlib import metadata

from tests.tables import table


@table("lacking", ["google", "grpc"])
@table("module", ["recollect_pb2", "recollect_pb2_grpc"])
def test_the_extra_is_named_where_it_is_not_installed(module: str, lacking: str) -> None:
    script = (
        f"import sys; sys.modules[{lacking!r}] = None\n"
        f"try:\n    from recollect.grpc.v1 import {module}\n"
        "except ImportError as error:\n    print(error.name, error)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.startswith(lacking)
    assert "install recollect with its extra server (in its folder: pip install '.[server]')" in said
    assert "server" in metadata.metadata("recollect").get_all("Provides-Extra", [])
