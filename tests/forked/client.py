"""Asks the server to run a command with the arguments, environment, folder and streams of this process."""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    request = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
    socket.send_fds(connection, [b"."], [0, 1, 2])
    connection.sendall(json.dumps(request).encode("ascii"))
    connection.shutdown(socket.SHUT_WR)
    answer = connection.recv(16)
status = int(answer or b"1")
os._exit(status)
