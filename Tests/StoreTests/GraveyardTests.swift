import Seal
import Testing
import Tree

@testable import Store

private let (ann, bob, eve) = (Bytes32(repeating: 1), Bytes32(repeating: 2), Bytes32(repeating: 3))

/// What somebody else overwrote in an open place is kept, whichever way it died.
@Suite struct GraveyardTests {
    private func addition(_ path: String, ms: UInt64, author: Bytes32) throws -> Entry {
        let hlc = HLC(ms: ms)
        let place = try #require(testPath(path).appending(.addition(AutoID(hlc: hlc, author: author))))
        return try Entry(path: place, hlc: hlc, author: author, value: .integer(5))
    }

    @Test(arguments: Backend.allCases) func keepsWhatWasReplaced(backend: Backend) throws {
        try backend.with { store in
            store.tellTime(777)
            let first = try testEntry("app/a", .string("ann's"), ms: 10, author: ann)
            let second = try testEntry("app/a", .integer(2), ms: 20, author: bob)
            try store.commit(first)
            #expect(try store.graves().isEmpty)
            try store.commit(second)
            let grave = try #require(try store.graves("app/a").first)
            #expect(grave.id == first.id && grave.path == first.path && grave.value == first.value)
            #expect(grave.author == ann && grave.hlc == first.hlc && grave.diedMs == 777)
            #expect(grave.killer == Killer(author: bob, hlc: second.hlc))
            #expect(try store.entryCount == 1)
            var expected = BucketDigest.empty
            expected.add(second.id)
            #expect(try store.digest(of: .root) == expected, "no digest knows of it")
            #expect(try store.allReferences() == [second.reference] && !store.contains(first.reference))
            // The dead one comes again from somewhere.
            #expect(try store.commit(first).dead == [first.reference])
            #expect(try store.graves().count == 1)
        }
    }

    @Test(arguments: Backend.allCases) func keepsWhatDiesBelow(backend: Backend) throws {
        try backend.with { store in
            let priority = try #require(testPath("app/a").appending(.priority))
            let entries = try [
                testEntry("app/a/x", .integer(1), ms: 10, author: ann), addition("app/a/x", ms: 11, author: ann),
                Entry(path: priority, hlc: HLC(ms: 12), author: ann, value: .string("high")),
                testEntry("app/a/y", .null, ms: 13, author: ann),
                testEntry("app/a/y/z", .integer(3), ms: 14, author: bob),
            ]
            for entry in entries { try store.commit(entry) }
            try store.commit(testEntry("app", .integer(0), ms: 20, author: bob))
            let kept = entries.filter { $0.author == ann }
            #expect(try Set(store.graves().map(\.id)) == Set(kept.map(\.id)))
            #expect(try store.graves().allSatisfy { $0.killer.author == bob })
            #expect(try store.graves("app/a/x").count == 2, "the addition stands below the number")
            #expect(try store.graves("app/a/y/z").map(\.id) == [entries[3].id], "what stood above")
        }
    }

    @Test(arguments: Backend.allCases) func keepsWhatWasDeadOnArrival(backend: Backend) throws {
        try backend.with { store in
            try store.commit(testEntry("app", .null, ms: 5, author: eve))
            try store.commit(testEntry("app/a", .integer(2), ms: 20, author: bob))
            let late = try testEntry("app/a", .integer(1), ms: 10, author: ann)
            let own = try testEntry("app/a", .integer(1), ms: 9, author: bob)
            #expect(try store.commit(late, own, late).dead == [late.reference, own.reference, late.reference])
            #expect(try store.graves().map(\.id) == [late.id])
            #expect(try store.graves().first?.killer == Killer(author: bob, hlc: HLC(ms: 20)))
        }
    }

    @Test(arguments: Backend.allCases) func keepsHeldOnesThatDie(backend: Backend) throws {
        try backend.with { store in
            let held = try testEntry("app/a", .integer(1), ms: 900, author: ann)
            try store.commit(held, heldAfter: HLC(ms: 100))
            try store.commit(testEntry("app", .integer(2), ms: 950, author: bob))
            try #require(try store.graves().isEmpty && store.heldCount == 1)
            #expect(try store.release(heldAfter: HLC(ms: 1000)).dead == [held.reference])
            #expect(try store.graves().map(\.id) == [held.id])
        }
    }

    /// Its own author's doing, a place that has an owner, and what no version of this program can show.
    @Test(arguments: Backend.allCases) func keepsNothingElse(backend: Backend) throws {
        try backend.with { store in
            let mid = AutoID(hlc: HLC(ms: 1), author: ann).text
            let cid = AutoID(hlc: HLC(ms: 1), author: bob).text
            let path = "channels/\(cid)/messages/\(mid)"
            for entry in try [
                testEntry("app/a", .integer(1), ms: 10, author: ann),
                testEntry("app/a", .integer(2), ms: 11, author: ann),
                testEntry("app/a/x", .integer(2), ms: 12, author: ann), testEntry("app", .null, ms: 13, author: ann),
                testEntry(path, .string("text"), ms: 10, author: ann), testEntry(path, .null, ms: 11, author: ann),
                testEntry("\(path)/text", .integer(1), ms: 12, author: ann),
                testEntry("channels/\(cid)", .null, ms: 20, author: bob),
                testEntry("users/\(UID.text(ann))/x", .integer(1), ms: 10, author: ann),
                testEntry("other/b", .integer(1), ms: 10, author: ann, kind: 7),
                testEntry("other/b", .integer(1), ms: 11, author: bob),
            ] { try store.commit(entry) }
            #expect(try store.graves().isEmpty)
            // An entry of such a kind kills like any other.
            try store.commit(testEntry("other/b", .integer(1), ms: 12, author: ann, kind: 7))
            #expect(try store.graves().map(\.author) == [bob])
        }
    }

    /// Thousands die of one entry, in slices; he who killed them first is named, even if he is overwritten meanwhile by
    /// the one they belonged to.
    @Test(arguments: Backend.allCases) func sweptOnesAreKept(backend: Backend) throws {
        try backend.with { store in
            let entries = try (0..<2500).map { number in
                try testEntry("app/list/\(number)", .integer(1), ms: UInt64(10 + number), author: ann)
            }
            for part in stride(from: 0, to: 2500, by: 500) {
                _ = try store.commit([testBundle(Array(entries[part..<(part + 500)]))], heldAfter: farFuture)
            }
            try store.commit(testEntry("app/list", .null, ms: 5000, author: bob))
            #expect(try store.graves().count == 1000)
            try store.commit(testEntry("app/list/2400", .integer(2), ms: 5500, author: ann))
            try store.commit(testEntry("app/list", .integer(0), ms: 6000, author: ann))
            while try store.sweep(limit: 300) {}
            let graves = try store.graves()
            #expect(Set(graves.map(\.id)).isSuperset(of: entries.map(\.id)))
            #expect(graves.count == 2501 && graves.allSatisfy { ($0.killer.author == bob) == ($0.author == ann) })
            #expect(try store.entryCount == 1)
        }
    }

    /// What takes long to copy is left to the sweep, so that no write waits for it.
    @Test(arguments: Backend.allCases) func largeOnesAreSweptInSlices(backend: Backend) throws {
        try backend.with { store in
            let text = Value.string(String(repeating: "x", count: 1_000_000))
            for number in 0..<20 {
                try store.commit(testEntry("app/list/\(number)", text, ms: UInt64(10 + number), author: ann))
            }
            try store.commit(testEntry("app/list", .null, ms: 100, author: bob))
            #expect(try store.graves().count == 5)
            #expect(try store.value("app/list/19") == .null, "it is out of sight at once")
            #expect(try store.sweep(limit: 1000))
            #expect(try store.graves().count == 10)
            while try store.sweep(limit: 1000) {}
            #expect(try store.graves().count == 20 && store.entryCount == 1)
        }
    }

    // MARK: Looking

    @Test(arguments: Backend.allCases) func looksAroundAPath(backend: Backend) throws {
        try backend.with { store in
            let paths = ["app", "app/a", "app/a/b", "app/a/c", "app/ab", "app/1", "other"]
            for (index, path) in paths.reversed().enumerated() {
                let ms = UInt64(10 + 2 * index)
                try store.commit(testEntry(path, .integer(Int64(index)), ms: ms, author: ann))
                try store.commit(testEntry(path, .null, ms: ms + 1, author: bob))
            }
            func found(_ path: String, before: Int64? = nil, limit: Int = .max) throws -> [String] {
                try store.graves(path, before: before, limit: limit).map { "\($0.path)" }
            }
            // What stood below `app` died once more of what was written to `app`.
            let annGraves = try store.graves().filter { $0.author == ann }
            #expect(annGraves.map { "\($0.path)" } == paths)
            #expect(try Set(found("app/a/c")) == ["app", "app/a", "app/a/c"])
            #expect(try Set(found("app/a")) == ["app", "app/a", "app/a/b", "app/a/c"])
            #expect(try Set(found("app/1")) == ["app", "app/1"] && Set(found("none")) == [])
            let all = try store.graves("app")
            #expect(try found("app", limit: 2) == all.prefix(2).map { "\($0.path)" })
            #expect(try found("app", before: all[1].number, limit: 2) == all[2..<4].map { "\($0.path)" })
            let id = all[2].id
            var byID: [Bytes32] = []
            try store.graves(around: testPath("app"), ids: id...id) { grave in
                byID.append(grave.id)
                return true
            }
            #expect(byID == [id])
            try store.graves(around: testPath("other"), ids: id...id) { _ in
                Issue.record("\(id) is not there")
                return true
            }
        }
    }
}
