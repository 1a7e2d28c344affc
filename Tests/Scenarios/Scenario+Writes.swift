internal import Chat
internal import Replication
internal import Seal
internal import Simulation
internal import Store
internal import Tree
internal import TreeModel

/// What people and programs write.
extension Scenario {
    func write() throws {
        guard let node = running.randomElement(using: &random) else { return }
        switch below(100) {
        case ..<32: try writeMessage(node)
        case ..<40: try editMessage(node)
        case ..<45: try deleteMessage(node)
        case ..<53: try react(node)
        case ..<58: try put(node, [(pick(channels).appending("topic"), .string("topic \(below(100))"))])
        case ..<74: try put(node, [randomPlace()])
        case ..<80: try put(node, (0...below(4)).map { _ in randomPlace() })
        case ..<85: try mutate(node, .add(Path(parsing: "apps/n/\(below(2))"), .integer(Int64(1 + below(9)))))
        case ..<87: try mutate(node, .setPriority(Path(parsing: "apps/n/\(below(2))"), .integer(Int64(below(3)))))
        case ..<88: try put(node, [(channels[1], .null)])
        case ..<91: try put(node, [(Path(parsing: "users/\(UID.text(node.author))"), name(below(100)))])
        case ..<94: try writeUnknown(node)
        case ..<95: try bulk(node)
        case ..<98: typing(node)
        default:
            note("node \(node.index) reads")
            records.markRead(pick(channels), node)
        }
    }

    /// Now and then somebody signs together what he has signed singly, and announces that.
    func signTogether() throws {
        guard var random = bundling else { return }
        defer { bundling = random }
        guard Int.random(in: 0..<5, using: &random) == 0, let node = running.randomElement(using: &random),
            !node.isDiskFull
        else { return }
        let stamps = node.store.singles(
            of: node.author, from: .zero, through: HLC(ms: HLC.msMax), limit: Int.random(in: 2...40, using: &random))
        guard stamps.count > 1, let seal = BundleSeal(signing: stamps, by: node.key, workspace: simulation.workspace)
        else { return }
        note("node \(node.index) signs \(stamps.count) of its entries together")
        guard try node.store.adopt(seal, workspace: simulation.workspace) == .adopted else {
            // Of two nodes with one key the other one may have been first.
            return
        }
        simulation.feed(node, .adopted(nil, seal, .adopted))
    }

    private func name(_ number: Int) -> Value {
        .object(ObjectValue([Key("displayName")].compactMap { $0 }.map { ($0, .string("name \(number)")) }))
    }

    private func randomPlace() -> (Path?, Value) {
        let keys = ["a", "b", "1"].compactMap { Key($0) }
        let below = (0...self.below(3)).map { _ in pick(keys) }
        var value: Value = self.below(3) == 0 ? .null : .integer(Int64(self.below(10)))
        if chance(5) { value = .object(ObjectValue([(pick(keys), .integer(1)), (pick(keys), .string("x"))])) }
        return (Path(["apps", "t"].compactMap { Key($0) } + below), value)
    }

    /// Writes values at one time; what one write would say twice it says once.
    private func put(_ node: SimulatedNode, _ writes: [(Path?, Value)]) throws {
        guard let hlc = simulation.tick(node.index) else { return }
        var entries: [Entry] = []
        for (path, value) in writes {
            guard let path, !entries.contains(where: { $0.path == path }) else { continue }
            entries.append(try Entry(path: path, hlc: hlc, author: node.author, value: value))
        }
        try commit(node, entries)
    }

    func commit(_ node: SimulatedNode, _ entries: [Entry]) throws {
        guard !entries.isEmpty else { return }
        let isDone = try simulation.write(node.index, entries)
        note("node \(node.index) writes \(entries.map(short).joined(separator: ", "))\(isDone ? "" : ": not done")")
        guard isDone else { return }
        records.acknowledge(entries, node)
        // Whatever the clocks show, what one writes comes after all that one sees.
        if entries.count == 1, !profile.has(.years), !node.store.contains(entries[0].reference) {
            records.complain("\(short(entries[0])), just written at node \(node.index), is dead")
        }
    }

    func short(_ entry: Entry) -> String {
        "\(entry.path) = \(entry.value.short) at \(entry.hlc) (\(entry.id.hex.prefix(8)))"
    }

    private func mutate(_ node: SimulatedNode, _ mutation: Mutation) throws {
        let entries = try? TreeView(node.store).entries(of: [mutation], by: node.author) {
            guard let hlc = simulation.tick(node.index) else { throw EntryError.tooLarge }
            return hlc
        }
        try commit(node, entries ?? [])
    }

    // MARK: Messages

    private func writeMessage(_ node: SimulatedNode) throws {
        guard let hlc = simulation.tick(node.index) else { return }
        let mid = AutoID(hlc: hlc, author: node.author)
        guard let path = pick(channels).appending("messages", mid.text) else { return }
        let pairs: [(String, Value)] = [
            ("senderId", .string(UID.text(node.author))), ("text", .string("text \(below(1000))")),
        ]
        let value = Value.object(ObjectValue(pairs.compactMap { pair in Key(pair.0).map { ($0, pair.1) } }))
        try commit(node, [Entry(path: path, hlc: hlc, author: node.author, value: value)])
    }

    /// A message of somebody that a node sees, or of the node itself.
    private func someMessage(_ node: SimulatedNode, isOwn: Bool) -> Path? {
        for _ in 0..<4 {
            guard let item = records.acknowledged.randomElement(using: &random) else { return nil }
            let path = item.entry.path
            guard path.depth == 4, path.keys[2].text == "messages", !isOwn || item.entry.author == node.author,
                let there = node.store.entry(at: PathKey(path)), !there.value.isNull
            else { continue }
            return path
        }
        return nil
    }

    private func editMessage(_ node: SimulatedNode) throws {
        guard let path = someMessage(node, isOwn: true) else { return }
        try put(
            node,
            [
                (path.appending("text"), .string("edited \(below(100))")),
                (path.appending("editedAt"), .integer(Int64(below(1000)))),
            ])
    }

    private func deleteMessage(_ node: SimulatedNode) throws {
        guard let path = someMessage(node, isOwn: true) else { return }
        try put(node, [(path, .null)])
    }

    private func react(_ node: SimulatedNode) throws {
        guard let path = someMessage(node, isOwn: false) else { return }
        let place = path.appending("reactions", UID.text(node.author), pick(["+1", "heart"]))
        try put(node, [(place, chance(4) ? .null : .bool(true))])
    }

    // MARK: Rarities

    /// What a later version may write: everybody keeps it, and nobody shows it.
    private func writeUnknown(_ node: SimulatedNode) throws {
        guard profile.has(.unknownKinds), let hlc = simulation.tick(node.index), let path = randomPlace().0 else {
            return
        }
        try commit(
            node, [Entry(path: path, hlc: hlc, author: node.author, value: .string("new"), kind: 7)])
    }

    /// An import, or the end of one: hundreds of entries at once, or one that kills them.
    private func bulk(_ node: SimulatedNode) throws {
        guard profile.has(.bulk) else { return }
        let place = try Path(parsing: "apps/b")
        if chance(3) { return try put(node, [(place, .null)]) }
        let count = 50 + below(400)
        note("node \(node.index) imports \(count) entries")
        for start in stride(from: 0, to: count, by: 100) {
            guard let hlc = simulation.tick(node.index) else { return }
            var entries: [Entry] = []
            for number in start..<min(count, start + 100) {
                guard let path = place.appending("\(number)") else { continue }
                entries.append(
                    try Entry(path: path, hlc: hlc, author: node.author, value: .integer(Int64(below(1000)))))
            }
            guard try simulation.write(node.index, entries) else { return }
            records.acknowledge(entries, node)
        }
    }

    // MARK: Soft state

    static let presenceTTLMs: UInt64 = 30_000
    static let typingTTLMs: UInt64 = 6000

    /// As a node does when it starts: it says that it is there, until it ends.
    func announce() {
        for node in running where present[node.index] != node.starts {
            present[node.index] = node.starts
            guard let path = try? Path(parsing: "presence/\(UID.text(node.author))") else { continue }
            simulation.feed(
                node, .setSoft(path, .string("online"), ttlMs: Scenario.presenceTTLMs, isRefreshed: true))
        }
    }

    private func typing(_ node: SimulatedNode) {
        guard profile.has(.soft), let path = pick(channels).appending("typingIndicator", UID.text(node.author)) else {
            return
        }
        let isTyping = !chance(3)
        note("node \(node.index) \(isTyping ? "types" : "types no more")")
        simulation.feed(
            node,
            .setSoft(
                path, isTyping ? .bool(true) : nil, ttlMs: isTyping ? Scenario.typingTTLMs : 0, isRefreshed: chance(2)))
    }
}
