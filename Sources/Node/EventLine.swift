internal import ControlAPI
internal import Tree

/// The line that tells of an event: the same for all who are told, but for the number of the subscription.
struct EventLine {
    private static let head = Array(#"{"jsonrpc":"2.0","method":"event","params":{"subscription":"#.utf8)
    /// The digits of any number.
    private static let numberBytes = 20

    /// What follows the number.
    private var tail: [UInt8] = []

    /// - `fields`: of the event, after the number; not empty.
    init(_ fields: JSONObject) {
        tail.reserveCapacity(512)
        fields.append(to: &tail)
        tail[0] = UInt8(ascii: ",")
        end()
    }

    /// What happened in the tree.
    ///
    /// - `path`: as a JSON text.
    init(_ event: TreeEvent, at path: [UInt8], _ form: ValueForm) {
        tail.reserveCapacity(path.count + 512)
        tail += #","event":""#.utf8
        tail += event.kind.rawValue.utf8
        tail += #"","path":"#.utf8
        tail += path
        tail += #","key":"#.utf8
        EventLine.json(event.key).append(to: &tail)
        tail += #","value":"#.utf8
        (event.key == nil ? form.json(event.value) : form.json(ofChild: event.value)).append(to: &tail)
        tail += #","previous":"#.utf8
        EventLine.json(event.previous).append(to: &tail)
        tail += "}".utf8
        end()
    }

    private static func json(_ key: Key?) -> JSON { key.map { .string($0.text) } ?? .null }

    private mutating func end() { tail += "}\n".utf8 }

    /// Whether it may be sent, whatever the number.
    var fits: Bool { count <= LineSplitter.lineMax }

    /// Bytes of the line, at most.
    var count: Int { EventLine.head.count + EventLine.numberBytes + tail.count }

    /// Appends the line, with its newline.
    func append(for subscription: Int, to lines: inout [UInt8]) {
        lines += EventLine.head
        JSON.int(Int64(subscription)).append(to: &lines)
        lines += tail
    }

    func bytes(for subscription: Int) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(count)
        append(for: subscription, to: &line)
        return line
    }
}
