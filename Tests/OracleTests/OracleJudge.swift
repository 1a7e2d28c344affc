import Tree
import TreeModel

/// Compares what the engine reports with what Firebase's client reports.
///
/// As the SDK's own tests do, the events of `listen` are compared as they stand and those of other steps path by path,
/// whose order within a path is the order of the kinds alone. The cases were written for a client with a partial cache
/// and a server. Three premises of theirs do not hold here, each a rule by which a difference is explained:
struct OracleJudge {
    enum Rule: String, CaseIterable {
        /// What is not there yet is known to be absent: an observer begins with `value: null` at once, so the `null`
        /// that a server reports later is no news.
        case absenceIsKnown
        /// All data is here: an observer for which Firebase waits until its server has told the rest is told at once.
        case cacheIsComplete
        /// Nobody acknowledges or reverts: where that changes what is shown, it is a write like any other.
        case noServer
    }

    typealias Reported = OracleRun.Reported

    private(set) var rules: Set<Rule> = []
    /// The first difference that no rule explains.
    private(set) var failure: String?

    /// Observers by path, and how many of them Firebase has given a whole value so far.
    private var listeners: [String: Int] = [:]
    private var complete: [String: Int] = [:]
    /// The state of each path as its events told it: children, and all values.
    private var children: [String: [String: Value]] = [:]
    private var values: [String: [Value]] = [:]
    /// Why Firebase may have missed a write for want of knowledge.
    private var ignorance: Rule?
    /// It has: from here on only the model can tell what is right.
    private(set) var hasDiverged = false

    init(_ oracle: OracleCase) throws {
        let run = OracleRun()
        for (index, step) in oracle.steps.enumerated() {
            ignorance = ignorance ?? explainDivergence(step, run)
            let expected = step.events.map { OracleRun.Reported($0) }
            let actual = try run.play(step)
            let path = OracleRun.text(step.path)
            if step.type == "listen" { listeners[path, default: 0] += 1 }
            if step.type == "unlisten" { listeners[path, default: 1] -= 1 }
            if !hasDiverged { judge(step, index, expected, actual) }
            for listener in run.listeners.values { check(listener, run.shown, index) }
        }
        if run.usesServer { rules.insert(.noServer) }
    }

    /// Whether Firebase's client knows too little to see what a step does: a priority where it does not know of
    /// anything yet, or a child outside a query's window.
    private func explainDivergence(_ step: OracleCase.Step, _ run: OracleRun) -> Rule? {
        guard ["set", "update", "serverUpdate", "serverMerge"].contains(step.type) else { return nil }
        let shown = run.shown
        for (path, _) in OracleRun.writes(step) {
            if path.last == ".priority", shown[path.dropLast()].isNull { return .absenceIsKnown }
            for listener in run.listeners.values where listener.query.first != nil || listener.query.last != nil {
                let above = OracleRun.keys(listener.path)
                guard path.count > above.count + 1, path.starts(with: above) else { continue }
                let known = listener.replay.children.map(\.key.text)
                if !known.contains(path[above.count]) { return .cacheIsComplete }
            }
        }
        return nil
    }

    /// What was told must be what a model says that knows everything.
    private mutating func check(_ listener: OracleRun.Listener, _ shown: NaiveTree, _ index: Int) {
        let node = shown[OracleRun.keys(listener.path)]
        let expected = listener.query.children(of: node).map { "\($0.key): \($0.value.exported().short)" }
        let told = listener.replay.children.map { "\($0.key.text): \($0.value.short)" }
        let value = listener.query.value(of: node).exported()
        if let nonsense = listener.replay.nonsense { fail("step \(index): \(nonsense)") }
        if expected != told { fail("step \(index): \(listener.path) was told \(told), but it is \(expected)") }
        if listener.replay.value != value {
            fail("step \(index): \(listener.path) has \(listener.replay.value?.short ?? "-"), but it is \(value.short)")
        }
    }

    private mutating func fail(_ words: String) { failure = failure ?? words }

    private mutating func judge(
        _ step: OracleCase.Step, _ index: Int, _ expected: [Reported], _ actual: [Reported]
    ) {
        for path in Set((expected + actual).map(\.path)).sorted() {
            let (expected, actual) = (expected.filter { $0.path == path }, actual.filter { $0.path == path })
            let wasComplete = complete[path, default: 0] >= listeners[path, default: 0]
            note(actual)
            let isSame = step.type == "listen" ? expected == actual : OracleJudge.isSame(expected, actual)
            if !isSame, !explain(step, path, expected, actual, wasComplete) {
                if let ignorance {
                    rules.insert(ignorance)
                    hasDiverged = true
                    return
                }
                fail("step \(index) \(step.type):\n  expected \(expected)\n  actual   \(actual)")
            }
            let told = expected.filter { $0.type == "value" }.count
            complete[path] = listeners[path] == 1 && told > 0 ? 1 : max(complete[path, default: 0], told)
        }
    }

    private mutating func note(_ events: [Reported]) {
        for event in events {
            switch (event.type, event.name) {
            case ("child_removed", let name?): children[event.path, default: [:]][name] = nil
            case ("value", _): values[event.path, default: []].append(event.data)
            case (_, let name?): children[event.path, default: [:]][name] = event.data
            default: break
            }
        }
    }

    private mutating func explain(
        _ step: OracleCase.Step, _ path: String, _ expected: [Reported], _ actual: [Reported], _ wasComplete: Bool
    ) -> Bool {
        var (missing, extra) = (expected, actual)
        for event in expected {
            guard let place = extra.firstIndex(of: event) else { continue }
            extra.remove(at: place)
            missing.remove(at: missing.firstIndex(of: event) ?? 0)
        }
        let isNull = { (event: Reported) in event.type == "value" && event.data.isNull }
        if step.type == "listen" ? extra.contains(where: isNull) : missing.contains(where: isNull) {
            guard !wasComplete, values[path, default: []].contains(.null) else { return false }
            rules.insert(.absenceIsKnown)
            extra.removeAll { step.type == "listen" && isNull($0) }
            missing.removeAll(where: isNull)
        }
        if missing.isEmpty, extra.isEmpty { return true }
        guard !wasComplete, missing.allSatisfy(wasTold) else { return false }
        rules.insert(.cacheIsComplete)
        return true
    }

    /// Whether the state that earlier events told is the one that an event tells.
    private func wasTold(_ event: Reported) -> Bool {
        switch (event.type, event.name) {
        case ("child_removed", let name?): children[event.path]?[name] == nil
        case ("value", _): values[event.path]?.last == event.data
        case (_, let name?): children[event.path]?[name] == event.data
        default: false
        }
    }

    private static let kinds = ["child_removed", "child_added", "child_moved", "child_changed", "value"]

    private static func isSame(_ expected: [Reported], _ actual: [Reported]) -> Bool {
        let order = { (events: [Reported]) in
            events.sorted { a, b in
                let (x, y) = (kinds.firstIndex(of: a.type) ?? 0, kinds.firstIndex(of: b.type) ?? 0)
                return x != y ? x < y : "\(a)" < "\(b)"
            }
        }
        return order(expected) == order(actual)
    }
}
