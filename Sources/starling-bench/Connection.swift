internal import Glibc

/// What the kernel has counted on connections of this machine.
enum Connection {
    /// Bytes that went both ways over the connections to ports on loopback, as ss(8) tells them.
    static func bytes(ports: [UInt16]) throws(BenchError) -> Int {
        let filter = ports.map { "dport = :\($0)" }.joined(separator: " or ")
        var sum = 0
        for word in try CommandOutput.of("ss -tinH state established '( \(filter) )'")
            .split(whereSeparator: { $0 == " " || $0 == "\n" || $0 == "\t" })
        {
            for name in ["bytes_acked:", "bytes_received:"] where word.hasPrefix(name) {
                sum += Int(word.dropFirst(name.count)) ?? 0
            }
        }
        guard sum > 0 else { throw .unexpected("ss(8), of iproute2, does not tell the bytes of a connection") }
        return sum
    }
}

/// What a command of the shell writes to standard output.
enum CommandOutput {
    static func of(_ command: String) throws(BenchError) -> String {
        guard let pipe = unsafe popen(command, "r") else { throw .current(command) }
        var buffer = [CChar](repeating: 0, count: 4096)
        var text = ""
        while unsafe fgets(&buffer, Int32(buffer.count), pipe) != nil {
            text += String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        _ = unsafe pclose(pipe)
        return text
    }
}
