"""
Asks the kernel for the user of one connection at a time, over netlink: the cost does not depend on how many connections
there are. Each line of standard input has the two ends as the other side sees them: its own address and port, then ours.
Answers each line with a user id, or with `gone` if there is no such connection that is established.
"""

import socket
import struct
import sys

SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST = 1
TCP = 6
ESTABLISHED = 1
NO_COOKIE = b"\xff" * 8
HEADER = struct.Struct("=IHHII")


def packed(address):
    """Returns the family and the 16 bytes of an address."""
    address = address.removeprefix("::ffff:") if "." in address else address
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.inet_pton(family, address).ljust(16, b"\0")


def request(own, own_port, other, other_port):
    # A link-local address names its interface, such as fe80::1%eth0.
    own, _, zone = own.partition("%")
    family, source = packed(own)
    _, destination = packed(other.partition("%")[0])
    interface = struct.pack("=I", socket.if_nametoindex(zone) if zone else 0)
    what = struct.pack("=BBBxI", family, TCP, 0, 1 << ESTABLISHED)
    ends = struct.pack("!HH", int(own_port), int(other_port)) + source + destination + interface + NO_COOKIE
    return HEADER.pack(HEADER.size + len(what + ends), SOCK_DIAG_BY_FAMILY, REQUEST, 0, 0) + what + ends


def user(kernel, line):
    kernel.send(request(*line.split()))
    answer = kernel.recv(65536)
    _, kind, _, _, _ = HEADER.unpack_from(answer)
    if kind != SOCK_DIAG_BY_FAMILY or answer[HEADER.size + 1] != ESTABLISHED:
        return "gone"
    # After family, state, timer and retransmissions, both ends (48 bytes), and four numbers comes the user id.
    return str(struct.unpack_from("=I", answer, HEADER.size + 64)[0])


def answer_to(kernel, line):
    # A line that cannot be understood, such as one with an interface that is gone, must not end the others' lookups.
    try:
        return user(kernel, line)
    except (OSError, ValueError, TypeError):
        return "gone"


def main():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, SOCK_DIAG) as kernel:
        for line in sys.stdin:
            print(answer_to(kernel, line), flush=True)


main()
