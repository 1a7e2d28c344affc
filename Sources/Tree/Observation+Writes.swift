extension Observation {
    /// The events of several writes that have arrived together.
    ///
    /// A window with a limit moves on child by child: otherwise of a hundred messages the last ten would be seen to
    /// arrive and the others never. Without a limit nothing is missed, and the smallest set of events is told. The
    /// value comes once, at the end. When it throws, the window is what it was.
    public mutating func apply(writes: [[Path]], _ view: TreeView) throws -> [TreeEvent] {
        Array(try changes(writes: writes, view).joined())
    }

    /// The events of ``apply(writes:_:)``, those of each step by themselves.
    package mutating func changes(writes: [[Path]], _ view: TreeView) throws -> [[TreeEvent]] {
        let touching = writes.filter { $0.contains(where: isTouched(by:)) }
        // Where the whole was replaced too, a step would show children of both beside each other.
        let isReplaced = touching.contains { $0.contains { $0.contains(path) } }
        guard query.limit != nil, touching.count > 1, !isReplaced else {
            return [try apply(Array(touching.joined()), view)]
        }
        let before = self
        var steps: [[TreeEvent]] = []
        var value: TreeEvent?
        base = try view.base(at: path)
        defer { base = nil }
        do {
            for step in self.steps(touching) {
                let events = try apply(step, view)
                value = events.last { $0.kind == .value } ?? value
                steps.append(events.filter { $0.kind != .value })
            }
        } catch {
            self = before
            throw error
        }
        if let value { steps.append([value]) }
        return steps
    }

    /// First one child after the other that is new, once each: it is read with everything that was written to it. Then
    /// the rest together, for where a child leaves the window is filled up with what is there by now, and what was
    /// added to a number may be in it already.
    private func steps(_ writes: [[Path]]) -> [[Path]] {
        let known = Set(window.children.map(\.key))
        var seen: Set<Key> = []
        var steps: [[Path]] = []
        var rest: [Path] = []
        func key(_ place: Path) -> Key { place.depth > path.depth ? place.keys[path.depth] : .priority }
        for write in writes {
            let inside = write.filter(isTouched(by:))
            let new = Set(inside.map(key).filter { !$0.isEngine && !known.contains($0) && !seen.contains($0) })
            seen.formUnion(new)
            let first = inside.filter { new.contains(key($0)) }
            if !first.isEmpty { steps.append(first) }
            rest += inside.filter { !seen.contains(key($0)) }
        }
        return rest.isEmpty ? steps : steps + [rest]
    }
}
