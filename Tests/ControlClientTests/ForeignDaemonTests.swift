import ControlClient
import Glibc
import Testing

struct ForeignDaemonTests {
    /// Somebody else who listens where the socket is expected learns nothing.
    @Test func aDaemonOfAnotherUserIsNotSpokenTo() async {
        // Only root can listen as somebody else.
        guard geteuid() == 0 else { return }
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/s"
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
            let status = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(status == 0)
            // The kernel remembers who called listen.
            #expect(seteuid(65534) == 0 && listen(listener, 1) == 0 && seteuid(0) == 0)
            #expect(throws: ClientError.foreignDaemon(path)) { _ = try ControlClient(path: path, timeoutMs: 5000) }
            close(listener)
        }
    }
}
