internal import Chat
internal import Seal
package import Simulation
package import Store
package import Tree
internal import TreeModel

/// Watches the nodes of a scenario: what was acknowledged to whom, what observers were told, and in which order
/// messages arrived.
package final class Records: SimulationWatcher {
    /// A write that a client was told is done.
    struct Acknowledged {
        /// What it is now, if it was issued anew.
        var entry: Entry
        let node: Int
    }

    /// The messages of one channel at one node, in the order of their arrival there; goes back with the disk.
    struct Arrivals: Sendable {
        struct Message: Sendable {
            let mid: Key
            let author: Bytes32
            let stamp: Stamp
            let number: Int
        }

        var messages: [Message] = []
        var count = 0
        /// What has arrived up to this number was read.
        var mark = 0
    }

    typealias Desk = [Path: Arrivals]

    private struct Observer {
        var observation: Observation
        var replay = Replay()
    }

    private(set) var acknowledged: [Acknowledged] = []
    /// Entries that no disk holds any more, nor one that has killed them: a power failure or a backup took them before
    /// anybody else had them.
    private(set) var lost: Set<Bytes32> = []
    private var observers: [Int: [Observer]] = [:]
    package private(set) var complaints: [String] = []
    private unowned let simulation: Simulation
    private let channels: [Path]

    init(_ simulation: Simulation, channels: [Path]) {
        self.simulation = simulation
        self.channels = channels
    }

    func complain(_ words: String) { complaints.append(words) }

    // MARK: Writes

    func acknowledge(_ entries: [Entry], _ node: SimulatedNode) {
        for entry in entries { acknowledged.append(Acknowledged(entry: entry, node: node.index)) }
    }

    /// Whether an entry is in a store, or one that has killed it.
    static func covers(_ store: MemoryStore, _ entry: Entry) -> Bool {
        if store.contains(entry.reference) { return true }
        for depth in 1...entry.path.depth {
            guard let above = store.entry(at: PathKey(entry.path.prefix(depth))) else { continue }
            if entry.stamp < above.stamp { return true }
        }
        // What is held kills when its time has come.
        guard store.heldCount > 0 else { return false }
        return store.allEntries.contains { $0.path.contains(entry.path) && entry.stamp < $0.stamp }
    }

    package func wentBack(_ node: SimulatedNode, from before: MemoryStore) {
        let stores = simulation.nodes.filter { $0.intruder == nil }.map(\.store)
        for item in acknowledged where !lost.contains(item.entry.id) {
            guard Records.covers(before, item.entry), !Records.covers(node.store, item.entry) else { continue }
            if !stores.contains(where: { Records.covers($0, item.entry) }) { lost.insert(item.entry.id) }
        }
    }

    // MARK: Observers

    /// A client that attaches anew: it is told what is there, and then what changes.
    package func started(_ node: SimulatedNode) {
        if node.notes == nil { node.notes = Desk() }
        observers[node.index] = channels.compactMap { channel in
            guard let messages = channel.appending("messages") else { return nil }
            var observer = Observer(
                observation: Observation(
                    path: messages, query: .all, kinds: Set(TreeEvent.Kind.allCases), sizeMax: 1 << 26))
            guard let events = try? observer.observation.start(TreeView(node.store)) else {
                complain("node \(node.index): an observer cannot begin")
                return nil
            }
            observer.replay.apply(events)
            return observer
        }
    }

    package func applied(_ result: CommitResult, at node: SimulatedNode) {
        guard !result.applied.isEmpty else { return }
        note(result.applied, node)
        tell(result.applied.map(\.path), node)
    }

    package func renewed(_ result: RenewalResult, at node: SimulatedNode) {
        for (old, new) in zip(result.removed, result.added) {
            for index in acknowledged.indices where acknowledged[index].entry.id == old.id {
                acknowledged[index].entry = new
            }
        }
        // What the old ones had killed, and nobody has any more, the new ones may be too early for.
        let stores = simulation.nodes.filter { $0.intruder == nil }.map(\.store)
        for item in acknowledged where result.removed.contains(where: { $0.path.contains(item.entry.path) }) {
            if !stores.contains(where: { Records.covers($0, item.entry) }) { lost.insert(item.entry.id) }
        }
        if var desk = node.notes as? Desk {
            for channel in desk.keys { for entry in result.removed { desk[channel]?.forget(entry, channel) } }
            node.notes = desk
        }
        note(result.added, node)
        tell((result.removed + result.added).map(\.path), node)
    }

    private func tell(_ changed: [Path], _ node: SimulatedNode) {
        let view = TreeView(node.store)
        for index in observers[node.index, default: []].indices {
            guard var observer = observers[node.index]?[index] else { continue }
            guard let events = try? observer.observation.apply(changed, view) else {
                complain("node \(node.index): an observer fails")
                continue
            }
            if events.isEmpty { continue }
            observer.replay.apply(events)
            observers[node.index]?[index] = observer
            if let nonsense = observer.replay.nonsense { complain("node \(node.index): \(nonsense)") }
        }
    }

    /// Whether what observers were told adds up to what is there.
    func checkObservers(_ node: SimulatedNode) throws {
        for observer in observers[node.index] ?? [] {
            let there = try node.value(at: observer.observation.path)
            if observer.replay.value ?? .null != there {
                complain("node \(node.index): an observer of \(observer.observation.path) was told something else")
            }
            let told = observer.replay.children.map(\.key)
            let keys = there.object?.children.map(\.key).filter { !$0.isEngine } ?? []
            if told != keys { complain("node \(node.index): an observer was told of other children") }
        }
    }

    // MARK: Arrivals

    private func note(_ entries: [Entry], _ node: SimulatedNode) {
        guard var desk = node.notes as? Desk else { return }
        for entry in entries {
            for channel in channels where channel.contains(entry.path) || entry.path.contains(channel) {
                var arrivals = desk[channel] ?? Arrivals()
                arrivals.take(entry, channel)
                desk[channel] = arrivals
            }
        }
        node.notes = desk
    }

    func markRead(_ channel: Path, _ node: SimulatedNode) {
        guard var desk = node.notes as? Desk else { return }
        node.store.setReadMark(container: channel, arrival: node.store.lastArrival(container: channel))
        desk[channel, default: Arrivals()].markAll()
        node.notes = desk
    }

    func checkUnread(_ node: SimulatedNode) {
        guard let desk = node.notes as? Desk else { return }
        for channel in channels {
            let arrivals = desk[channel] ?? Arrivals()
            let expected = arrivals.messages.count { $0.number > arrivals.mark && $0.author != node.author }
            let mark = node.store.readMark(container: channel)
            let unread = try? node.store.unread(container: channel, afterArrival: mark, notBy: node.author)
            if unread != min(expected, MemoryStore.unreadCountMax) {
                complain("node \(node.index): \(unread ?? -1) unread in \(channel), but \(expected) arrived")
            }
        }
    }
}

extension Records.Arrivals {
    /// Follows an entry that became live at, above or below a channel.
    mutating func take(_ entry: Entry, _ channel: Path) {
        let depth = channel.depth + 2
        if entry.path.depth < depth {
            messages.removeAll { message in
                let path = Path(channel.keys + [Key("messages"), message.mid].compactMap { $0 })
                return message.stamp < entry.stamp && path.map(entry.path.contains) ?? false
            }
            return
        }
        guard entry.path.depth == depth, entry.path.keys[depth - 2].text == "messages", let mid = entry.path.last,
            !mid.isEngine
        else { return }
        if entry.kind != Entry.set || entry.value.isNull { return messages.removeAll { $0.mid == mid } }
        if let index = messages.firstIndex(where: { $0.mid == mid }) {
            let old = messages[index]
            messages[index] = Message(mid: mid, author: old.author, stamp: entry.stamp, number: old.number)
        } else {
            count += 1
            messages.append(Message(mid: mid, author: entry.author, stamp: entry.stamp, number: count))
        }
    }

    /// Follows an entry that is gone as if it had never been.
    mutating func forget(_ entry: Entry, _ channel: Path) {
        guard entry.path.depth == channel.depth + 2, channel.contains(entry.path), let mid = entry.path.last else {
            return
        }
        messages.removeAll { $0.mid == mid }
    }

    mutating func markAll() { mark = max(mark, messages.last?.number ?? 0) }
}

extension MemoryStore {
    /// All references, in order.
    var allReferences: [EntryReference] { references(in: ReferenceRange(.root), newest: .max).sorted() }

    /// Live and held entries.
    var allEntries: [Entry] {
        ((try? bundles(for: allReferences).bundles) ?? []).flatMap(\.leaves).map(\.entry)
    }
}
