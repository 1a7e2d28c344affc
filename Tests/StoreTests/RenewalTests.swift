import Seal
import Store
import Testing
import Tree

/// Issuing anew what a clock that was far ahead has stamped.
@Suite struct RenewalTests {
    private let key = SigningKey(seed: Bytes32(repeating: 5))
    private let workspace = Bytes32(repeating: 9)
    private var own: Bytes32 { key.publicKey }
    private let nowMs: UInt64 = 1_800_000_000_000
    private var futureMs: UInt64 { nowMs + 365 * 24 * 3_600_000 }
    private var limit: HLC { HLC(ms: nowMs + 24 * 3_600_000) }

    private func sign(_ path: String, _ value: Value, _ hlc: HLC) throws -> Bundle {
        let entry = try Entry(path: testPath(path), hlc: hlc, author: own, value: value)
        #expect(Ownership.denial(of: entry) == nil, "\(path)")
        return Bundle(signing: [entry], by: key, workspace: workspace)
    }

    private func object(_ pairs: [(String, Value)]) throws -> Value {
        .object(ObjectValue(try pairs.map { (try #require(Key($0.0)), $0.1) }))
    }

    /// Renews everything in steps of `step`.
    @discardableResult
    private func renew(_ store: any NodeStore, told: HLC = .zero, step: Int = 100) throws -> [RenewalResult] {
        var state = RenewalState(told: told, limit: limit)
        var results: [RenewalResult] = []
        repeat {
            results.append(
                try store.renew(&state, by: key, workspace: workspace, workspaceMs: nowMs, limit: step))
        } while results.last?.isMoreLeft == true
        return results
    }

    /// A conversation of the future, as a node writes it.
    private func write(_ store: any NodeStore) throws -> (first: AutoID, second: AutoID) {
        let first = AutoID(hlc: HLC(ms: futureMs), author: own)
        let reserved = AutoID(hlc: HLC(ms: futureMs, counter: 7), author: own)
        let channel = "channels/---------lunchlunchlun"
        let question = try object([("text", .string("a")), ("createdAt", .number(Int64(futureMs)))])
        let answer = try object([
            ("text", .string("b")), ("createdAt", .number(Int64(futureMs + 5))), ("replyTo", .string(first.text)),
        ])
        let writes: [(String, Value, HLC)] = [
            ("\(channel)/messages/\(first)", question, HLC(ms: futureMs)),
            ("\(channel)/messages/\(reserved)", answer, HLC(ms: futureMs + 5)),
            ("\(channel)/messages/\(first)/text", .string("a, edited"), HLC(ms: futureMs + 9)),
            ("\(channel)/messages/\(first)/editedAt", .number(Int64(futureMs + 9)), HLC(ms: futureMs + 9)),
            ("\(channel)/messages/\(reserved)/reactions/\(UID.text(own))/x", .bool(true), HLC(ms: futureMs + 10)),
            ("\(channel)/reads/\(UID.text(own))", .string(reserved.text), HLC(ms: futureMs + 11)),
            ("users/\(UID.text(own))/displayName", .string("ada"), HLC(ms: futureMs + 12)),
            ("apps/n/.add:\(AutoID(hlc: HLC(ms: futureMs + 13), author: own))", .integer(3), HLC(ms: futureMs + 13)),
        ]
        for (path, value, hlc) in writes {
            let keys = try path.split(separator: "/").map { try #require(Key(stored: String($0))) }
            let entry = try Entry(path: try #require(Path(keys)), hlc: hlc, author: own, value: value)
            #expect(Ownership.denial(of: entry) == nil, "\(path)")
            _ = try store.commit([Bundle(signing: [entry], by: key, workspace: workspace)], heldAfter: farFuture)
        }
        return (first, reserved)
    }

    @Test(arguments: Backend.allCases, [1, 2, 100]) func everythingHangsTogetherAsBefore(
        backend: Backend, step: Int
    ) throws {
        try backend.with { store in
            try store.commit(testEntry("apps/n", .integer(4), ms: nowMs - 5, author: Bytes32(repeating: 1)))
            let (first, second) = try write(store)
            let before = try store.value("channels/---------lunchlunchlun")
            let results = try renew(store, step: step)
            #expect(results.flatMap(\.added).count == 8 && results.flatMap(\.removed).count == 8)
            let renewed = try [first, second].map { old in
                AutoID(hlc: try #require(try store.renewedTime(ofKey: old.hlc)), author: own).text
            }
            #expect(renewed[0] < renewed[1])
            let after = try store.value("channels/---------lunchlunchlun")
            let messages = after["messages"].object?.children ?? []
            #expect(messages.map(\.key.text) == renewed)
            #expect(messages.map { $0.value["text"] } == [.string("a, edited"), .string("b")])
            #expect(messages[1].value["replyTo"] == .string(renewed[0]))
            #expect(after["reads"][UID.text(own)] == .string(renewed[1]))
            #expect(messages[1].value["reactions"] == before["messages"][second.text]["reactions"])
            #expect(try store.value("apps/n") == .integer(7))
            for name in ["createdAt", "editedAt"] {
                let ms = try #require(messages[0].value[name].integer)
                #expect(ms >= Int64(nowMs) && ms < Int64(nowMs) + 1000, "\(name)")
            }
            // Everything that is left may be told to anybody.
            for entry in try store.liveEntries() where entry.author == own {
                #expect(entry.hlc > HLC(ms: nowMs) && entry.hlc < limit && Ownership.denial(of: entry) == nil)
                for bundle in try store.bundles(for: [entry.reference]).bundles {
                    #expect(bundle.verifies(workspace: workspace))
                }
            }
            try expectDigest(of: store)
            // The index of messages knows the new ones alone.
            #expect(try store.containers(ofMessage: first.text).isEmpty)
            #expect(try store.containers(ofMessage: renewed[0]).count == 1)
            // A second time there is nothing to do.
            #expect(try renew(store).flatMap(\.added).isEmpty)
        }
    }

    private func expectDigest(of store: any NodeStore) throws {
        var digest = BucketDigest.empty
        for entry in try store.liveEntries() { digest.add(entry.id) }
        #expect(try store.digest(of: .root) == digest)
    }

    /// What was told, what is near enough, and what others wrote stays.
    @Test(arguments: Backend.allCases) func onlyWhatNobodyHasSeen(backend: Backend) throws {
        try backend.with { store in
            let told = HLC(ms: futureMs + 100)
            _ = try store.commit(
                [
                    sign("apps/seen", .integer(1), HLC(ms: futureMs)),
                    sign("apps/near", .integer(2), HLC(ms: limit.ms)),
                    sign("apps/unseen", .integer(3), HLC(ms: futureMs + 200)),
                ], heldAfter: farFuture)
            try store.commit(testEntry("apps/other", .integer(4), ms: futureMs + 300))
            _ = try store.commit([sign("apps/held", .integer(5), HLC(ms: futureMs + 400))], heldAfter: limit)
            let results = try renew(store, told: told)
            #expect(results.flatMap(\.removed).map(\.path.description) == ["apps/unseen"])
            #expect(try store.entryCount == 5)
            #expect(try store.heldCount == 1)
        }
    }

    /// What would be dead at the new time stays as it is; so it is held, not lost.
    @Test(arguments: Backend.allCases) func nothingDies(backend: Backend) throws {
        try backend.with { store in
            _ = try store.commit(
                [
                    sign("apps/x", .integer(1), HLC(ms: futureMs)),
                    sign("apps/x/y", .integer(2), HLC(ms: futureMs + 9)),
                    sign("apps/z", .integer(3), HLC(ms: futureMs + 10)),
                ], heldAfter: farFuture)
            let results = try renew(store, told: HLC(ms: futureMs))
            #expect(results.flatMap(\.removed).map(\.path.description) == ["apps/z"])
            #expect(try store.value("apps/x/y") == .integer(2) && store.value("apps/z") == .integer(3))
            try expectDigest(of: store)
        }
    }

    /// What others wrote in the meantime is older than what is issued anew, as it would be.
    @Test(arguments: Backend.allCases) func isLaterThanWhatIsHere(backend: Backend) throws {
        try backend.with { store in
            let others = try testEntry("apps/x", .integer(1), ms: nowMs + 3_600_000)
            try store.commit(others)
            _ = try store.commit([sign("apps/x/y", .integer(2), HLC(ms: futureMs))], heldAfter: farFuture)
            try renew(store)
            #expect(try store.value("apps/x/y") == .integer(2))
            let renewed = try #require(try store.liveEntries().last)
            #expect(renewed.author == own && renewed.hlc > others.hlc && renewed.hlc < limit)
        }
    }

    /// Leaves of one bundle are taken out one by one; what stays can still be proven.
    @Test(arguments: Backend.allCases) func takesLeavesOutOfBundles(backend: Backend) throws {
        try backend.with { store in
            let entries = try (0..<5).map { index in
                let ms = index < 2 ? nowMs - 10 + UInt64(index) : futureMs + UInt64(index)
                return try Entry(
                    path: testPath("apps/\(index)"), hlc: HLC(ms: ms), author: own, value: .integer(Int64(index)))
            }
            let bundle = Bundle(signing: entries, by: key, workspace: workspace)
            _ = try store.commit([bundle], heldAfter: farFuture)
            try renew(store, step: 2)
            for index in 0..<5 { #expect(try store.value("apps/\(index)") == .integer(Int64(index))) }
            for reference in try store.allReferences() {
                let (bundles, gone) = try store.bundles(for: [reference])
                #expect(gone.isEmpty && bundles.count == 1)
                for bundle in bundles { #expect(bundle.verifies(workspace: workspace)) }
            }
            try expectDigest(of: store)
        }
    }

    /// A push ID of a client on this machine has the wrong time as well; it certifies nobody and is dated anew. Words
    /// that only look like one stay.
    @Test(arguments: Backend.allCases) func pushIDs(backend: Backend) throws {
        try backend.with { store in
            let old = String(AutoID(hlc: HLC(ms: futureMs), author: own).text.prefix(8)) + "0123456789ab"
            let place = "channels/---------lunchlunchlun/messages"
            _ = try store.commit(
                [
                    sign("\(place)/\(old)", object([("text", .string("internationalization"))]), HLC(ms: futureMs)),
                    sign("apps/last", .string(old), HLC(ms: futureMs + 1)),
                ], heldAfter: farFuture)
            try renew(store)
            let message = try #require(try store.value(place).object?.children.first)
            #expect(message.key.text.hasSuffix("0123456789ab") && message.key.text != old)
            #expect(AutoID.pushIDMs(message.key.text).map { $0 < limit.ms } == true)
            #expect(message.value["text"] == .string("internationalization"))
            #expect(try store.value("apps/last") == .string(message.key.text))
        }
    }

    /// Up to which time others may have seen what was written: a process that dies in company has told everything.
    @Test(arguments: Backend.allCases) func whatWasTold(backend: Backend) throws {
        try backend.with { store in
            #expect(try store.toldTime() == .zero)
            try store.commit(testEntry("apps/a", .integer(1), ms: 50))
            #expect(try store.toldTime() == .zero, "written alone")
            try store.beginContact()
            try store.commit(testEntry("apps/b", .integer(1), ms: 60))
            #expect(try store.toldTime() == HLC(ms: 60))
            try store.commit(testEntry("apps/c", .integer(1), ms: 70))
            #expect(try store.toldTime() == HLC(ms: 60))
            try store.beginContact()
            try store.endContact(told: HLC(ms: 75, counter: 3))
            #expect(try store.toldTime() == HLC(ms: 75, counter: 3))
        }
    }
}
