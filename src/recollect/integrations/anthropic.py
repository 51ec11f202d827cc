"""Anthropic's memory tool on an engine: each file under /memories is a memory with history."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard

from recollect.engine.engine import Engine
from recollect.errors import Conflict, InvalidInput, NotFound, show
from recollect.integrations.shared import notes_of, requires_extra, to_topic_key
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.enums import Provenance, parse_choice
from recollect.model.memory import Memory
from recollect.model.scope import Scope, as_scope

with requires_extra("anthropic"):
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        BetaFunctionToolResultType,
        ToolError,
    )
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

METADATA_KEY = "anthropic"
"""The metadata key for the file of a memory."""

ROOT_FOLDER = "/memories"
EMPTY_FILE_TEXT = "(an empty file)"
"""The text of the memory of a blank file, because a memory cannot be blank."""

SHOWN_LEVELS = 2
MAX_FILE_LINES = 999_999
NUMBER_WIDTH = len(str(MAX_FILE_LINES))
CONTEXT_LINES = 2
"""How many lines are shown around a change."""

_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_SIZE_UNITS = "BKMG"


class RecollectMemoryTool(BetaAbstractMemoryTool):
    """The memory tool with files stored as memories of a scope.

    The files can be recalled like any memory. A folder exists as long as it has a file. If a command is invalid or the
    engine rejects the text, as it does for a secret, Claude gets a tool error.
    """

    def __init__(
        self,
        engine: Engine,
        scope: str | Scope,
        *,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._engine = engine
        self._scope = as_scope(scope)
        self._provenance = parse_choice("provenance", provenance, Provenance)

    def call(self, input: object) -> BetaFunctionToolResultType:
        """Run a command as Claude gives it."""
        return super().call(_require_command(input))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the numbered lines of a file, or a folder's content, two levels deep."""
        with _translate_errors():
            path = _require_path(command, "path")
            memory = self._get_file(path)
            if memory is not None:
                return _format_file(command.path, _file_content(memory), _require_range(command))
            files = {key: _file_content(one) for key, one in self._list_files().items()}
            if path != ROOT_FOLDER and not _files_below(files, path):
                raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
            return _format_folder(path, files)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file; raise if a file or folder with that name exists."""
        with _translate_errors():
            path, text = _require_path(command, "path"), _require_text(command, "file_text")
            self._refuse_existing(path, f"File {command.path} already exists")
            self._refuse_inside_a_file(path)
            self._write(path, text, None)
            return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace the only occurrence of a text in a file."""
        with _translate_errors():
            path, memory = self._get_editable_file(command)
            content = _file_content(memory)
            old, replacement = _require_text(command, "old_str"), _require_text(command, "new_str")
            lines = [content.count("\n", 0, place) for place in _find_all(content, old)]
            if not lines:
                missing = f"old_str `{old}` did not appear verbatim in {command.path}"
                raise ToolError(f"No replacement was performed, {missing}.")
            if len(lines) > 1:
                where = f"Multiple occurrences of old_str `{old}` in lines: {', '.join(str(one + 1) for one in lines)}"
                raise ToolError(f"No replacement was performed. {where}. Please ensure it is unique")
            new = content.replace(old, replacement)
            self._write(path, new, memory)
            around = _number_lines(new.split("\n"), max(lines[0] - CONTEXT_LINES, 0), lines[0] + CONTEXT_LINES + 1)
            edited = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
            return "\n".join([edited, *around])

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line of a file, or at the start (0)."""
        with _translate_errors():
            path, memory = self._get_editable_file(command)
            line, text = _require_integer(command, "insert_line"), _require_text(command, "insert_text")
            lines = _file_content(memory).removesuffix("\n").split("\n") if _file_content(memory) else []
            if not 0 <= line <= len(lines):
                raise _invalid_parameter("insert_line", line, f"within the range [0, {len(lines)}]")
            lines.insert(line, text.rstrip("\n"))
            self._write(path, "\n".join(lines).removesuffix("\n") + "\n", memory)
            return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all its files."""
        with _translate_errors():
            path = _require_path(command, "path")
            if path == ROOT_FOLDER:
                raise ToolError(f"Cannot delete the {ROOT_FOLDER} directory itself")
            files = self._find_files(path)
            if not files:
                raise ToolError(f"The path {command.path} does not exist")
            self._drop_files(files, self._provenance)
            return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or a folder; the new memories name the old ones as origins."""
        with _translate_errors():
            old, new = _require_path(command, "old_path"), _require_path(command, "new_path")
            if old == ROOT_FOLDER:
                raise ToolError(f"Cannot rename the {ROOT_FOLDER} directory itself")
            self._refuse_existing(new, f"The destination {command.new_path} already exists")
            files = self._find_files(old)
            if not files:
                raise ToolError(f"The path {command.old_path} does not exist")
            if new.startswith(f"{old}/"):
                raise ToolError(f"Cannot rename {command.old_path} to {command.new_path}, which is inside of it")
            self._refuse_inside_a_file(new)
            moved = [
                (_require_short_path(new + path.removeprefix(old)), path, memory) for path, memory in files.items()
            ]
            self._engine.items.put(
                [self._draft(to, _file_content(memory), derived_from=(memory.id,)) for to, _, memory in moved],
                drop=[(self._scope, _topic_key(path)) for _, path, _ in moved],
                seen=[
                    *((self._scope, _topic_key(path), memory) for _, path, memory in moved),
                    *((self._scope, _topic_key(to), None) for to, _, _ in moved),
                ],
                provenance=self._provenance,
            )
            return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Forget all files without erasing them.

        It is not a command of the tool, so a model cannot call it.
        """
        with _translate_errors():
            self._drop_files(self._list_files(), None)
            return "All memory cleared"

    def _get_file(self, path: str) -> Memory | None:
        memory = self._engine.items.get(_topic_key(path), scope=self._scope)
        return None if memory is None or _path_of(memory) is None else memory

    def _list_files(self) -> dict[str, Memory]:
        """Return every file by path, in order."""
        now = self._engine.items.now()
        memories = (one for one in self._engine.memories(scope=self._scope) if not one.ended_by(now))
        files = [(path, memory) for memory in memories if (path := _path_of(memory)) is not None]
        return dict(sorted(files, key=lambda file: file[0]))

    def _find_files(self, path: str) -> dict[str, Memory]:
        files = self._list_files()
        return {one: files[one] for one in files if one == path or one.startswith(f"{path}/")}

    def _get_editable_file(
        self, command: BetaMemoryTool20250818StrReplaceCommand | BetaMemoryTool20250818InsertCommand
    ) -> tuple[str, Memory]:
        path = _require_path(command, "path")
        memory = self._get_file(path)
        if memory is not None:
            return path, memory
        if path == ROOT_FOLDER or self._find_files(path):
            raise ToolError(f"The path {command.path} is not a file.")
        raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")

    def _refuse_existing(self, path: str, message: str) -> None:
        if path == ROOT_FOLDER or self._find_files(path):
            raise ToolError(message)

    def _refuse_inside_a_file(self, path: str) -> None:
        parts = path.split("/")
        folders = ["/".join(parts[:length]) for length in range(3, len(parts))]  # those below /memories
        file = next((one for one in folders if self._get_file(one) is not None), None)
        if file is not None:
            raise ToolError(f"The path {file} is a file, so nothing can be inside of it")

    def _write(self, path: str, content: str, seen: Memory | None) -> None:
        self._engine.items.put([self._draft(path, content)], seen=[(self._scope, _topic_key(path), seen)])

    def _drop_files(self, files: Iterable[str], by: Provenance | None) -> None:
        self._engine.items.put([], drop=[(self._scope, _topic_key(path)) for path in files], provenance=by)

    def _draft(self, path: str, content: str, derived_from: tuple[str, ...] = ()) -> Draft:
        blank = not content or content.isspace()
        notes: dict[str, Any] = {"path": path, **({"content": content} if blank else {})}
        return Draft(
            text=EMPTY_FILE_TEXT if blank else content,
            scope=self._scope,
            title=path,
            topic_key=_topic_key(path),
            provenance=self._provenance,
            derived_from=derived_from,
            metadata={METADATA_KEY: notes},
        )


class RecollectAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The tool for an asynchronous client; each command runs in a worker thread."""

    def __init__(
        self,
        engine: Engine,
        scope: str | Scope,
        *,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = RecollectMemoryTool(engine, scope, provenance=provenance)

    async def call(self, input: object) -> BetaFunctionToolResultType:
        return await super().call(_require_command(input))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(self._tool.clear_all_memory)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn errors of the engine into tool errors, so that Claude can react."""
    try:
        yield
    except (InvalidInput, Conflict, NotFound) as error:
        raise ToolError(str(error)) from error


def _path_of(memory: Memory) -> str | None:
    """Return the file path of a memory; `None` if its metadata is not that of a file."""
    path = (notes_of(METADATA_KEY, memory) or {}).get("path")
    return path if isinstance(path, str) and memory.topic_key == _topic_key(path) else None


def _require_command(input: object) -> object:
    """Return the command, or raise if it is unknown."""
    name = input.get("command") if isinstance(input, Mapping) else None
    if name not in _COMMANDS:
        raise ToolError(f"Unknown command: {show(name)}. It should be one of {', '.join(_COMMANDS)}.")
    return input


def _require_text(command: object, name: str) -> str:
    """Return a text parameter that a store can hold; raise for other values, since commands are not validated."""
    value = getattr(command, name, None)
    if not isinstance(value, str):
        raise _invalid_parameter(name, value, "a text")
    return validation.require_clean_text(name, value)


def _require_integer(command: object, name: str) -> int:
    value = getattr(command, name, None)
    if not _is_integer(value):
        raise _invalid_parameter(name, value, "a whole number")
    return value


def _require_range(command: BetaMemoryTool20250818ViewCommand) -> tuple[int, int] | None:
    """Return the first and last line to show; by default all."""
    match command.view_range:
        case None | []:
            return None
        case [first, last] if _is_integer(first) and _is_integer(last):
            return first, last
        case other:
            raise _invalid_parameter(
                "view_range", other, "two whole numbers, the first line and the last one, or -1 for the end"
            )


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _invalid_parameter(name: str, value: object, expected: str) -> ToolError:
    return ToolError(f"Invalid `{name}` parameter: {show(value)}. It should be {expected}.")


def _require_path(command: object, name: str) -> str:
    """Return the path without a trailing slash; raise outside /memories, or for an invalid part."""
    value = _require_text(command, name)
    if not (value == ROOT_FOLDER or value.startswith(f"{ROOT_FOLDER}/")):
        raise ToolError(f"Path must start with {ROOT_FOLDER}, got: {_shorten_path(value)}")
    path = _require_short_path(value.rstrip("/"))
    parts = path.split("/")[1:]
    if any(part in ("", ".", "..") for part in parts):
        raise ToolError(f"Path {value} would escape {ROOT_FOLDER} directory, or has an empty part")
    if "\\" in path or validation.find_invisible_character(path) is not None:
        raise ToolError(f"Path {show(value)} has a backslash or an invisible character")
    return path


def _require_short_path(path: str) -> str:
    if len(_topic_key(path)) > validation.MAX_ID_CHARS:
        limit = f"It should have at most {validation.MAX_ID_CHARS} characters, where each % counts as three"
        raise ToolError(f"Path {_shorten_path(path)} is too long. {limit}.")
    return path


def _shorten_path(path: str) -> str:
    return path if len(path) <= validation.MAX_ID_CHARS else show(path)


def _topic_key(path: str) -> str:
    return to_topic_key("", path)


def _file_content(memory: Memory) -> str:
    notes = notes_of(METADATA_KEY, memory) or {}
    return str(notes.get("content", memory.text))


def _find_all(content: str, text: str) -> list[int]:
    """Return the positions of a text in the content, overlaps included."""
    if not text:
        raise ToolError("No replacement was performed, old_str is empty.")
    if content.count(text) < 2:
        position = content.find(text)
        return [] if position < 0 else [position]
    positions, position = list[int](), content.find(text)
    while position >= 0:
        positions.append(position)
        position = content.find(text, position + 1)
    return positions


def _format_file(path: str, content: str, view_range: tuple[int, int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > MAX_FILE_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {MAX_FILE_LINES:,} lines.")
    first, last = 0, len(lines)
    if view_range is not None:
        first = max(view_range[0], 1) - 1
        last = last if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_number_lines(lines, first, last))


def _number_lines(lines: Sequence[str], first: int, last: int) -> list[str]:
    return [f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines[first:last], start=first + 1)]


def _files_below(files: Iterable[str], folder: str) -> list[str]:
    return [one for one in files if one.startswith(f"{folder}/")]


def _format_folder(folder: str, files: dict[str, str]) -> str:
    """Return a folder's content, two levels deep; a folder's size is that of its files."""
    sizes: dict[tuple[str, ...], int] = {}
    inside = {path: path.removeprefix(f"{folder}/").split("/") for path in _files_below(files, folder)}
    for path, parts in inside.items():
        size = len(files[path].encode())
        for depth in range(min(len(parts), SHOWN_LEVELS) + 1):
            name = (*parts[:depth], *([""] if 0 < depth < len(parts) else []))  # a folder ends in a slash
            sizes[name] = sizes.get(name, 0) + size
    shown = [name for name in sorted(sizes) if name and not any(part.startswith(".") for part in name)]
    header = f"Here're the files and directories up to {SHOWN_LEVELS} levels deep in {folder}, excluding hidden items:"
    lines = [f"{_format_size(sizes.get(name, 0))}\t{'/'.join((folder, *name))}" for name in ((), *shown)]
    return "\n".join([header, *lines])


def _format_size(size: int) -> str:
    unit = min(max(size.bit_length() - 1, 0) // 10, len(_SIZE_UNITS) - 1)
    amount = size / 1024**unit
    return f"{amount:.0f}{_SIZE_UNITS[unit]}" if amount.is_integer() else f"{amount:.1f}{_SIZE_UNITS[unit]}"
