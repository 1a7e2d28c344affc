internal import Glibc

/// Integer options of a socket (socket(7), tcp(7)).
enum SocketOption {
    /// Best effort; callers say why that is enough.
    static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Makes the next close cut the connection and drop what the kernel still holds for it (SO_LINGER with 0 s).
    static func resetOnClose(_ descriptor: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    /// The error a socket has run into meanwhile, 0 if none; asking clears it (SO_ERROR).
    static func pendingError(_ descriptor: Int32) -> Int32 {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &value, &size) == 0 else { return errno }
        return value
    }

    /// A new stream socket, non-blocking and close-on-exec.
    static func streamSocket(_ family: Int32) throws(NetError) -> Descriptor {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return try Descriptor(socket(family, kind, 0), operation: "socket")
    }
}
