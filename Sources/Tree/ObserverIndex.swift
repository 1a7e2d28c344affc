/// Who observes which path: finds those that a write concerns without a look at the others.
///
/// They are found in Firebase's order: observers below before those above, siblings by key, and of one path in the
/// order in which they began.
public struct ObserverIndex: Sendable {
    private struct Place {
        var children: [Key: Place] = [:]
        /// Ascending: later observers have greater numbers.
        var observers: [Int] = []

        var isEmpty: Bool { children.isEmpty && observers.isEmpty }

        mutating func insert(_ observer: Int, _ keys: ArraySlice<Key>) {
            guard let key = keys.first else {
                let index = observers.lastIndex { $0 < observer }.map { $0 + 1 } ?? 0
                observers.insert(observer, at: index)
                return
            }
            children[key, default: Place()].insert(observer, keys.dropFirst())
        }

        mutating func remove(_ observer: Int, _ keys: ArraySlice<Key>) {
            guard let key = keys.first else { return observers.removeAll { $0 == observer } }
            children[key]?.remove(observer, keys.dropFirst())
            if children[key]?.isEmpty == true { children[key] = nil }
        }

        /// - `changed`: paths at or below this place that were written; `isBelow`: whether a write lies at or above it.
        func gather(_ changed: [Path], depth: Int, isBelow: Bool, _ found: inout [Int]) {
            let isBelow = isBelow || changed.contains { $0.depth == depth }
            if isBelow {
                for key in children.keys.sorted() {
                    children[key]?.gather([], depth: depth + 1, isBelow: true, &found)
                }
            } else if !children.isEmpty {
                let touched = Dictionary(grouping: changed, by: { $0.keys[depth] })
                for key in touched.keys.sorted() {
                    guard let paths = touched[key] else { continue }
                    children[key]?.gather(paths, depth: depth + 1, isBelow: false, &found)
                }
            }
            found += observers
        }
    }

    private var root = Place()

    public init() {}

    /// - `observer`: a number greater than those of the observers of the path so far.
    public mutating func insert(_ observer: Int, at path: Path) { root.insert(observer, path.keys[...]) }

    public mutating func remove(_ observer: Int, at path: Path) { root.remove(observer, path.keys[...]) }

    /// The observers that a write of these paths may concern, in the order in which they are told.
    public func observers(of changed: [Path]) -> [Int] {
        guard !root.isEmpty, !changed.isEmpty else { return [] }
        var found: [Int] = []
        root.gather(changed, depth: 0, isBelow: false, &found)
        return found
    }
}
