extension ReplicaReader where Self: EntryReader {
    public func tail(of path: Path, children: Int, limit: Int) throws -> [EntryReference] {
        let key = PathKey(path)
        var child: Key?
        var childCount = 0
        var found: [EntryReference] = []
        guard limit > 0 else { return found }
        try scan(from: key.firstChild, to: key.subtreeEnd, descending: true) { entry in
            guard entry.path.depth > path.depth else { return false }
            if child != entry.path.keys[path.depth] {
                guard childCount < children else { return false }
                childCount += 1
                child = entry.path.keys[path.depth]
            }
            found.append(entry.reference)
            return found.count < limit
        }
        return found
    }
}
