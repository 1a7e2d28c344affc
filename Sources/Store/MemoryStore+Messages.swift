public import Seal
public import Tree

extension MemoryStore {
    /// An entry has become live: it is a message, or the one that was at its path is none any more.
    func noteMessage(_ entry: Entry) {
        if let place = MessagePlace(of: entry) {
            addMessage(place, author: entry.author)
        } else if let place = MessagePlace(entry.path) {
            removeMessage(place)
        }
    }

    private func addMessage(_ place: MessagePlace, author: Bytes32) {
        guard places[place.mid]?.contains(place.container) != true else {
            let index = containers[place.container]?.messages.firstIndex { $0.mid == place.mid }
            if let index { containers[place.container]?.messages[index].author = author }
            return
        }
        containers[place.container, default: Container()].messages.append((lastChange, place.mid, author))
        places[place.mid, default: []].append(place.container)
    }

    func removeMessage(_ place: MessagePlace) {
        guard let index = places[place.mid]?.firstIndex(of: place.container) else { return }
        places[place.mid]?.remove(at: index)
        if places[place.mid]?.isEmpty == true { places[place.mid] = nil }
        containers[place.container]?.messages.removeAll { $0.mid == place.mid }
    }

    public func containers(ofMessage mid: String) throws -> [Path] {
        let paths = (places[mid] ?? []).compactMap(\.path)
        return try paths.filter { try !mid.utf8.lexicographicallyPrecedes(leastKey($0).utf8) }
    }

    /// The least key of a message of a container that no retention has ended.
    private func leastKey(_ container: Path) throws -> String {
        guard container.depth == 2, container.keys[0].text == "channels" else { return "" }
        return try retention(ofChannel: container.keys[1])?.leastKey ?? ""
    }

    public func retention(ofChannel cid: Key) throws -> Retention? { try retention(Retention.rules(ofChannel: cid)) }

    public func messageCount(container: Path, before key: String, limit: Int) -> Int {
        let messages = containers[PathKey(container)]?.messages ?? []
        return messages.lazy.filter { $0.mid.utf8.lexicographicallyPrecedes(key.utf8) }.prefix(limit).count
    }

    public func lastArrival(container: Path) -> Int64 { containers[PathKey(container)]?.messages.last?.arrival ?? 0 }

    public func unread(container: Path, afterArrival: Int64, notBy author: Bytes32) throws -> Int {
        let least = try leastKey(container)
        let messages = containers[PathKey(container)]?.messages ?? []
        let newest = messages.reversed().prefix { $0.arrival > afterArrival }
        return newest.lazy.filter { message in
            message.author != author && !message.mid.utf8.lexicographicallyPrecedes(least.utf8)
        }.prefix(Self.unreadCountMax).count
    }

    public func readMark(container: Path) -> Int64 { containers[PathKey(container)]?.readMark ?? 0 }

    public func setReadMark(container: Path, arrival: Int64) {
        let mark = min(arrival, lastChange)
        containers[PathKey(container), default: Container()].readMark = max(readMark(container: container), mark)
    }
}
