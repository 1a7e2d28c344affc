"""What a user would pick instead, doing the same work on loopback: rivals.py NAME FOLDER MESSAGES BURST.

Prints one JSON object: `p50_us` and `p99_us` from a send until another client has the message, one at a time; `rate`, the
messages a second of a burst; `seconds`, of programs that carry much at once, until the other side has all; or `absent`
with the reason. All messages are 100 bytes. Each program has its usual settings but for what stands in the way of a
burst, and takes part as it is: the brokers neither encrypt nor sign nor store.
"""
import ctypes
import ctypes.util
import json
import multiprocessing
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import xml.etree.ElementTree as ElementTree

SIZE = 100
WAIT_S = 60
BLOCK = 100


class Absent(Exception):
    pass


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def program(name, package):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Absent(f"{name} is not installed (Debian package {package})")
    return path


STARTED = []


def start(arguments, **more):
    server = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent, **more)
    STARTED.append(server)
    return server


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port):
    end = time.monotonic() + WAIT_S
    while True:
        try:
            peer = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return peer
        except OSError:
            if time.monotonic() > end:
                raise Absent("it does not listen")
            time.sleep(0.02)


def until(peer, token):
    data = b""
    while token not in data:
        part = peer.recv(65536)
        if not part:
            raise Absent("it closed the connection")
        data += part
    return data


def text(number):
    """Each is another, so that a missing one is noticed."""
    digits = b"%d " % number
    return b"<" + digits + b"x" * (SIZE - len(digits) - 2) + b">"


class Counter:
    """Counts messages by their last byte."""

    def __init__(self, peer):
        self.peer = peer

    def wait(self, count):
        while count > 0:
            data = self.peer.recv(262144)
            if not data:
                raise Absent("it closed the connection")
            count -= data.count(b">")


def outcome(times, count, seconds):
    times.sort()
    return {
        "p50_us": times[len(times) // 2] / 1000, "p99_us": times[len(times) * 99 // 100] / 1000,
        "rate": count / seconds,
    }


def drive(send, wait, messages, burst):
    """`send` takes a list of texts, `wait` how many have to arrive."""
    times = []
    for number in range(messages + 50):
        one = [text(number)]
        begun = time.perf_counter_ns()
        send(one)
        wait(1)
        if number >= 50:
            times.append(time.perf_counter_ns() - begun)
    blocks = [[text(number) for number in range(first, first + BLOCK)] for first in range(0, burst, BLOCK)]
    sender = threading.Thread(target=lambda: [send(block) for block in blocks], daemon=True)
    begun = time.perf_counter()
    sender.start()
    wait(len(blocks) * BLOCK)
    seconds = time.perf_counter() - begun
    sender.join()
    return outcome(times, len(blocks) * BLOCK, seconds)


def discard(peer):
    """Reads what a broker answers to the sender, which it would otherwise be held up by."""
    def run():
        while peer.recv(262144):
            pass
    threading.Thread(target=run, daemon=True).start()


def ngircd(folder, messages, burst):
    port = free_port()
    path = os.path.join(folder, "ngircd.conf")
    with open(path, "w") as file:
        file.write(
            f"[Global]\nName=irc.bench.local\nInfo=bench\nListen=127.0.0.1\nPorts={port}\nMotdPhrase=hello\n"
            "[Limits]\nMaxPenaltyTime=0\n[Options]\nDNS=no\nIdent=no\nPAM=no\n")
    start([program("ngircd", "ngircd"), "-n", "-f", path])
    a, b = connect(port), connect(port)
    for peer, nick in ((a, b"ann"), (b, b"bob")):
        peer.sendall(b"NICK " + nick + b"\r\nUSER x 0 * :x\r\nJOIN #c\r\n")
        until(peer, b"End of NAMES list")
    discard(a)
    head = b"PRIVMSG #c :"
    return drive(
        lambda texts: a.sendall(b"".join(head + one + b"\r\n" for one in texts)), Counter(b).wait, messages,
        # It lets a client's lines wait in a queue of a few KiB and takes them a few at a time.
        min(burst, 5000))


def nats(folder, messages, burst):
    port = free_port()
    start([program("nats-server", "nats-server"), "-a", "127.0.0.1", "-p", str(port)], cwd=folder)
    a, b = connect(port), connect(port)
    for peer in (a, b):
        until(peer, b"\r\n")
        peer.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
        until(peer, b"PONG\r\n")
    b.sendall(b"SUB c 1\r\nPING\r\n")
    until(b, b"PONG\r\n")
    return drive(
        lambda texts: a.sendall(b"".join(b"PUB c %d\r\n" % SIZE + one + b"\r\n" for one in texts)), Counter(b).wait,
        messages, burst)


def mosquitto(folder, messages, burst):
    port = free_port()
    path = os.path.join(folder, "mosquitto.conf")
    with open(path, "w") as file:
        file.write(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nset_tcp_nodelay true\n")
    start([program("mosquitto", "mosquitto"), "-c", path])
    a, b = connect(port), connect(port)
    for peer, name in ((a, b"ann"), (b, b"bob")):
        peer.sendall(
            b"\x10" + bytes([12 + len(name)]) + b"\0\4MQTT\4\2\0\0\0" + bytes([len(name)]) + name)
        peer.recv(4)
    b.sendall(b"\x82\x06\0\1\0\1c\0")
    b.recv(5)
    head = b"\x30" + bytes([SIZE + 3]) + b"\0\1c"
    return drive(
        lambda texts: a.sendall(b"".join(head + one for one in texts)), Counter(b).wait, messages, burst)


def redis(folder, messages, burst):
    port = free_port()
    start(
        [program("redis-server", "redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        cwd=folder)
    a, b = connect(port), connect(port)
    b.sendall(b"SUBSCRIBE c\r\n")
    until(b, b":1\r\n")
    discard(a)
    return drive(
        lambda texts: a.sendall(b"".join(b"PUBLISH c " + one.replace(b" ", b"_") + b"\r\n" for one in texts)),
        Counter(b).wait, messages, burst)


def zenoh_reader(port, pipe):
    """Tells of each message by one byte."""
    import zenoh
    die_with_parent()
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", json.dumps([f"tcp/127.0.0.1:{port}"]))
    session = zenoh.open(config)
    subscriber = session.declare_subscriber("c", lambda sample: os.write(pipe, b">"))
    os.write(pipe, b"r")
    signal.pause()
    subscriber.undeclare()


class PipeCounter:
    def __init__(self, pipe):
        self.pipe = pipe

    def wait(self, count):
        while count > 0:
            if not select.select([self.pipe], [], [], WAIT_S)[0]:
                raise Absent(f"{count} messages did not arrive")
            got = os.read(self.pipe, 65536)
            if not got:
                raise Absent("its other end died")
            count -= len(got)


def zenoh(folder, messages, burst):
    try:
        import zenoh as module
    except ImportError:
        raise Absent("Python has no module zenoh (PyPI package eclipse-zenoh)")
    port = free_port()
    here, there = os.pipe()
    context = multiprocessing.get_context("fork")
    reader = context.Process(target=zenoh_reader, args=(port, there), daemon=True)
    reader.start()
    os.close(there)
    PipeCounter(here).wait(1)
    config = module.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("connect/endpoints", json.dumps([f"tcp/127.0.0.1:{port}"]))
    session = module.open(config)
    publisher = session.declare_publisher("c", congestion_control=module.CongestionControl.BLOCK)
    counter = PipeCounter(here)
    # The subscription is known here a little after the session.
    for _ in range(WAIT_S * 10):
        publisher.put(text(0))
        if select.select([here], [], [], 0.1)[0]:
            break
    time.sleep(0.3)
    while select.select([here], [], [], 0)[0]:
        os.read(here, 65536)
    try:
        return drive(lambda texts: [publisher.put(one) for one in texts], counter.wait, messages, burst)
    finally:
        reader.kill()


class Tox:
    """Of toxcore's C interface only what is needed (tox.h of libtoxcore 0.2)."""

    def __init__(self, port):
        self.library = library = ctypes.CDLL("libtoxcore.so.2")
        for name in ("tox_options_new", "tox_new"):
            getattr(library, name).restype = ctypes.c_void_p
        library.tox_options_new.argtypes = [ctypes.c_void_p]
        library.tox_new.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        options = ctypes.c_void_p(library.tox_options_new(None))
        for name, kind, value in (
            ("start_port", ctypes.c_uint16, port), ("end_port", ctypes.c_uint16, port),
            ("local_discovery_enabled", ctypes.c_bool, True), ("ipv6_enabled", ctypes.c_bool, False),
        ):
            setter = getattr(library, "tox_options_set_" + name)
            setter.argtypes = [ctypes.c_void_p, kind]
            setter.restype = None
            setter(options, value)
        error = ctypes.c_int(0)
        self.tox = ctypes.c_void_p(library.tox_new(options, ctypes.byref(error)))
        if not self.tox:
            raise Absent(f"toxcore does not start: error {error.value}")
        library.tox_iterate.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.tox_iterate.restype = None
        library.tox_friend_send_message.argtypes = [
            ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_int)]
        library.tox_friend_send_message.restype = ctypes.c_uint32
        library.tox_friend_add_norequest.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        library.tox_friend_get_connection_status.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]

    def bytes(self, name):
        buffer = ctypes.create_string_buffer(32)
        getter = getattr(self.library, name)
        getter.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        getter.restype = None
        getter(self.tox, buffer)
        return buffer.raw

    def befriend(self, key, dht_key, port):
        self.library.tox_friend_add_norequest(self.tox, key, None)
        bootstrap = self.library.tox_bootstrap
        bootstrap.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint16, ctypes.c_char_p, ctypes.c_void_p]
        bootstrap.restype = ctypes.c_bool
        bootstrap(self.tox, b"127.0.0.1", port, dht_key, None)

    def iterate(self):
        self.library.tox_iterate(self.tox, None)

    @property
    def is_connected(self):
        return self.library.tox_friend_get_connection_status(self.tox, 0, None) != 0

    def send(self, one):
        error = ctypes.c_int(0)
        self.library.tox_friend_send_message(self.tox, 0, 0, one, len(one), ctypes.byref(error))
        return error.value


def tox_reader(port, other_port, pipe, channel):
    """Tells of each message by one byte."""
    die_with_parent()
    tox = Tox(port)
    channel.send((tox.bytes("tox_self_get_public_key"), tox.bytes("tox_self_get_dht_id")))
    key, dht_key = channel.recv()
    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    callback = kind(lambda *_: os.write(pipe, b">"))
    tox.library.tox_callback_friend_message.argtypes = [ctypes.c_void_p, kind]
    tox.library.tox_callback_friend_message(tox.tox, callback)
    tox.befriend(key, dht_key, other_port)
    # Without a pause: toxcore itself asks for a turn each 50 ms, which would be all that is measured.
    while True:
        tox.iterate()


def toxcore(folder, messages, burst):
    try:
        ctypes.CDLL("libtoxcore.so.2")
    except OSError:
        raise Absent("libtoxcore.so.2 is not installed (Debian package libtoxcore2 or libtoxcore-dev)")
    ports = (free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM))
    here, there = os.pipe()
    context = multiprocessing.get_context("fork")
    channel, other = context.Pipe()
    reader = context.Process(target=tox_reader, args=(ports[1], ports[0], there, other), daemon=True)
    reader.start()
    os.close(there)
    try:
        tox = Tox(ports[0])
        channel.send((tox.bytes("tox_self_get_public_key"), tox.bytes("tox_self_get_dht_id")))
        tox.befriend(*channel.recv(), ports[1])
        end = time.monotonic() + WAIT_S
        while not tox.is_connected:
            tox.iterate()
            time.sleep(0.001)
            if time.monotonic() > end:
                raise Absent(f"two instances did not find each other within {WAIT_S} s")

        def pump(done):
            end = time.monotonic() + WAIT_S
            while not done():
                tox.iterate()
                if time.monotonic() > end:
                    raise Absent(f"messages did not arrive within {WAIT_S} s")

        arrived = 0

        def take():
            nonlocal arrived
            while select.select([here], [], [], 0)[0]:
                arrived += len(os.read(here, 65536))
            return arrived

        times = []
        for number in range(messages // 5 + 20):
            before, begun = take(), time.perf_counter_ns()
            pump(lambda: tox.send(text(number)) == 0)
            tox.iterate()
            pump(lambda: take() > before)
            if number >= 20:
                times.append(time.perf_counter_ns() - begun)
        # It refuses more than a window; what it refuses is sent again.
        burst = min(burst, 20000)
        before, begun, number = take(), time.perf_counter(), 0
        while take() < before + burst:
            for _ in range(BLOCK):
                if number == burst or tox.send(text(number)) != 0:
                    break
                number += 1
            tox.iterate()
            if time.perf_counter() - begun > WAIT_S:
                raise Absent(f"of a burst {arrived - before} messages arrived within {WAIT_S} s")
        return outcome(times, burst, time.perf_counter() - begun)
    finally:
        reader.kill()


def pycrdt(folder, messages, burst):
    """A library and no network: the work of both sides without the way between them."""
    try:
        from pycrdt import Array, Doc
    except ImportError:
        raise Absent("Python has no module pycrdt (PyPI package pycrdt)")
    full = Doc()
    full["messages"] = array = Array()
    for first in range(0, burst, 1000):
        with full.transaction():
            for number in range(first, min(burst, first + 1000)):
                array.append(text(number).decode())
    empty = Doc()
    empty["messages"] = Array()
    begun = time.perf_counter()
    empty.apply_update(full.get_update(empty.get_state()))
    seconds = time.perf_counter() - begun
    if len(empty["messages"]) != burst:
        raise Absent("the copy is not what it was made of")
    return {"seconds": seconds}


def syncthing_home(binary, home, port, gui):
    generated = subprocess.run(
        [binary, "generate", "--no-default-folder", "--home", home], capture_output=True, text=True,
        env={**os.environ, "HOME": home})
    path = os.path.join(home, "config.xml")
    if generated.returncode != 0 or not os.path.exists(path):
        raise Absent("syncthing generate failed: " + generated.stderr.strip()[-200:])
    tree = ElementTree.parse(path)
    options = tree.getroot().find("options")
    for name, value in (
        ("listenAddress", f"tcp://127.0.0.1:{port}"), ("globalAnnounceEnabled", "false"),
        ("localAnnounceEnabled", "false"), ("relaysEnabled", "false"), ("natEnabled", "false"),
        ("startBrowser", "false"), ("urAccepted", "-1"), ("crashReportingEnabled", "false"),
        ("autoUpgradeIntervalH", "0"), ("reconnectionIntervalS", "1"),
    ):
        for old in options.findall(name):
            options.remove(old)
        ElementTree.SubElement(options, name).text = value
    tree.getroot().find("gui").find("address").text = f"127.0.0.1:{gui}"
    return path, tree, tree.getroot().find("device").get("id")


def syncthing(folder, messages, burst):
    binary = program("syncthing", "syncthing")
    sides = []
    for name in ("a", "b"):
        home = os.path.join(folder, "syncthing-" + name)
        data = os.path.join(home, "data")
        os.makedirs(os.path.join(data, ".stfolder"))
        port = free_port()
        gui = free_port()
        sides.append((home, data, port, gui) + syncthing_home(binary, home, port, gui))
    for (home, data, _, _, path, tree, _), other in zip(sides, reversed(sides)):
        root = tree.getroot()
        device = ElementTree.SubElement(root, "device", id=other[6], name="other", compression="metadata")
        ElementTree.SubElement(device, "address").text = f"tcp://127.0.0.1:{other[2]}"
        shared = ElementTree.SubElement(
            root, "folder", id="bench", label="bench", path=data, type="sendreceive", rescanIntervalS="3600",
            fsWatcherEnabled="true", fsWatcherDelayS="1")
        for _, _, _, _, _, _, identity in sides:
            ElementTree.SubElement(shared, "device", id=identity)
        tree.write(path)
    size = burst * (SIZE + 1)
    with open(os.path.join(sides[0][1], "messages"), "wb") as file:
        for number in range(burst):
            file.write(text(number) + b"\n")
    arguments = [binary, "serve", "--no-browser", "--no-restart", "--home"]
    start(arguments + [sides[0][0]], env={**os.environ, "HOME": sides[0][0]})
    for _ in range(WAIT_S * 50):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{sides[0][3]}/rest/noauth/health", timeout=1).read()
            break
        except OSError:
            time.sleep(0.02)
    time.sleep(3)
    target = os.path.join(sides[1][1], "messages")
    begun = time.perf_counter()
    start(arguments + [sides[1][0]], env={**os.environ, "HOME": sides[1][0]})
    while not (os.path.exists(target) and os.path.getsize(target) == size):
        if time.perf_counter() - begun > WAIT_S:
            raise Absent(f"the other side did not have the file within {WAIT_S} s")
        time.sleep(0.005)
    return {"seconds": time.perf_counter() - begun}


RIVALS = {
    "ngircd": ngircd, "nats": nats, "mosquitto": mosquitto, "redis": redis, "toxcore": toxcore, "zenoh": zenoh,
    "syncthing": syncthing, "pycrdt": pycrdt,
}


def end(status):
    for server in STARTED:
        server.kill()
        server.wait()
    # Sessions and threads are not waited for.
    os._exit(status)


def main():
    name, folder, messages, burst = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    folder = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    # Some outlive their parent otherwise: who gives up root's rights no longer dies with it.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: end(1))
    try:
        result = RIVALS[name](folder, messages, burst)
    except Absent as reason:
        result = {"absent": str(reason)}
    except (OSError, ValueError, RuntimeError) as error:
        result = {"absent": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
    end(0)


main()
