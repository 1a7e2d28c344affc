public import Seal
public import Tree

extension MemoryStore {
    func addMessage(_ place: MessagePlace, author: Bytes32) {
        guard places[place.mid]?.contains(place.container) != true else { return }
        arrival += 1
        containers[place.container, default: Container()].messages.append((arrival, place.mid, author))
        places[place.mid, default: []].append(place.container)
    }

    func removeMessage(_ place: MessagePlace) {
        guard let index = places[place.mid]?.firstIndex(of: place.container) else { return }
        places[place.mid]?.remove(at: index)
        if places[place.mid]?.isEmpty == true { places[place.mid] = nil }
        containers[place.container]?.messages.removeAll { $0.mid == place.mid }
    }

    public func containers(ofMessage mid: String) -> [Path] { (places[mid] ?? []).compactMap(\.path) }

    public func lastArrival(container: Path) -> Int64 { containers[PathKey(container)]?.messages.last?.arrival ?? 0 }

    public func unread(container: Path, afterArrival: Int64, notBy author: Bytes32) -> Int {
        let messages = containers[PathKey(container)]?.messages ?? []
        let newest = messages.reversed().prefix { $0.arrival > afterArrival }
        return newest.lazy.filter { $0.author != author }.prefix(Self.unreadCountMax).count
    }

    public func readMark(container: Path) -> Int64 { containers[PathKey(container)]?.readMark ?? 0 }

    public func setReadMark(container: Path, arrival: Int64) {
        let mark = min(arrival, self.arrival)
        containers[PathKey(container), default: Container()].readMark = max(readMark(container: container), mark)
    }
}
