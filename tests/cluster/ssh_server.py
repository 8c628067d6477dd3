"""An ssh server on loopback for tests: `python -m tests.cluster.ssh_server FOLDER`, until its standard input ends.

Writes into the folder: `key`, the private key that may log in under any name, and `known_hosts`, a line with the
server's port and public key. Runs what it is asked to as sshd does, each command in a session of its own.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import asyncssh

LOOPBACK = "127.0.0.1"


async def serve(folder: Path) -> None:
    """Listen until standard input ends."""
    host_key, client_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    client_key.write_private_key(folder / "key")
    client_key.write_public_key(folder / "authorized")
    server = await asyncssh.listen(
        LOOPBACK,
        0,
        server_host_keys=[host_key],
        authorized_client_keys=str(folder / "authorized"),
        process_factory=_run_command,
    )
    public_key = host_key.export_public_key().decode().strip()
    # Renamed when complete: the test waits for it.
    (folder / "unfinished").write_text(f"[{LOOPBACK}]:{server.get_port()} {public_key}\n")
    (folder / "unfinished").rename(folder / "known_hosts")
    await asyncio.to_thread(sys.stdin.read)
    server.close()


async def _run_command(process: Any) -> None:
    # Of pipes of asyncio's, asyncssh reads one twice at a time once much goes through it, and breaks the connection.
    (input_end, stdin), (stdout, output_end), (stderr, error_end) = os.pipe(), os.pipe(), os.pipe()
    ends = input_end, output_end, error_end
    running = await asyncio.create_subprocess_shell(
        process.command, stdin=input_end, stdout=output_end, stderr=error_end, start_new_session=True
    )
    for end in ends:
        os.close(end)
    await process.redirect(stdin=stdin, stdout=stdout, stderr=stderr)
    ended, left = (asyncio.ensure_future(end) for end in (running.wait(), process.wait_closed()))
    await asyncio.wait([ended, left], return_when=asyncio.FIRST_COMPLETED)
    # The client has left or has sent a signal.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    process.exit(await ended)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
