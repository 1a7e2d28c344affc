import Seal
import Testing
import Tree

@testable import Store

/// What this user has decided about people, and which names they were seen with.
@Suite struct KnownPeopleTests {
    private func key(_ number: UInt8) -> Bytes32 { Bytes32(repeating: number) }

    private func marks(verified: Bool = false, muted: Bool = false, blocked: Bool = false) -> PersonMarks {
        var marks = PersonMarks()
        (marks.isVerified, marks.isMuted, marks.isBlocked) = (verified, muted, blocked)
        return marks
    }

    @Test func marksAreKept() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("db")
        var store = try DatabaseStore(path: path)
        let given = [
            (key(1), marks(verified: true)), (key(2), marks(muted: true)),
            (key(3), marks(verified: true, blocked: true)),
        ]
        for (key, marks) in given { #expect(try store.setMarks(marks, of: key)) }
        #expect(try store.setMarks(marks(), of: key(2)))
        store.close()
        store = try DatabaseStore(path: path)
        let found = try store.personMarks()
        #expect(found.map(\.key) == [key(1), key(3)])
        #expect(found.map(\.marks) == [given[0].1, given[2].1])
    }

    /// A name belongs to the key it was first seen with; what was seen together belongs to nobody alone.
    @Test func namesBelongToWhoCameFirst() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("db")
        var store = try DatabaseStore(path: path)
        try store.rememberNames([(key(1), "bob"), (key(2), "bob"), (key(3), "ann")], atMs: 100)
        for number: UInt8 in 1...2 { #expect(try store.earlierBearer(of: "bob", than: key(number)) == nil) }
        try store.rememberNames([(key(4), "bob"), (key(1), "bob"), (key(5), "eve")], atMs: 200)
        store.close()
        store = try DatabaseStore(path: path)
        let bearer = try #require(try store.earlierBearer(of: "bob", than: key(4)))
        #expect(bearer.key == key(1) && bearer.sinceMs == 100)
        #expect(try store.namesakes() == [key(4)])
        // Whoever takes a name that he had before is no stranger.
        try store.rememberNames([(key(1), "bobby"), (key(4), "bobby")], atMs: 300)
        #expect(try store.earlierBearer(of: "bob", than: key(1)) == nil)
        try store.acceptName("bob", of: key(4))
        #expect(try store.earlierBearer(of: "bob", than: key(4)) == nil && store.namesakes().isEmpty)
        try store.rememberNames([(key(6), "bob")], atMs: 400)
        #expect(try store.namesakes() == [key(6)])
    }

    /// Whoever changes his name again and again makes nobody remember more than some of them.
    @Test func namesOfOneAreBounded() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("db"))
        try store.rememberNames([(key(1), "bob")], atMs: 1)
        for number in 0..<40 { try store.rememberNames([(key(2), "name \(number)")], atMs: 2) }
        let count = try store.database.integer("SELECT count(*) FROM known_name")
        #expect(count == Int64(KnownPeople.namesOfOneMax) + 1)
        try store.rememberNames([(key(3), "name 39"), (key(4), "bob"), (key(5), "name 0")], atMs: 3)
        #expect(try store.namesakes() == [key(3), key(4)])
    }

    /// Somebody who has used up all places for names silences no warning.
    @Test func whoseNameIsNotRememberedIsComparedAllTheSame() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("db"))
        try store.rememberNames([(key(1), "bob"), (key(2), "ann")], atMs: 1, countMax: 2)
        try store.rememberNames([(key(3), "bob"), (key(4), "eve")], atMs: 2, countMax: 2)
        #expect(try store.database.integer("SELECT count(*) FROM known_name") == 2)
        #expect(try store.earlierBearer(of: "bob", than: key(3)) == NameBearer(key: key(1), sinceMs: 1))
        #expect(try store.earlierBearer(of: "eve", than: key(4)) == nil)
        #expect(try store.earlierBearer(of: "bob", than: key(1)) == nil)
        try store.acceptName("bob", of: key(3))
        #expect(try store.earlierBearer(of: "bob", than: key(3)) == nil)
    }

    @Test func whoIsMutedIsNotCounted() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("db"))
        let channel = try testPath("channels/c")
        for number: UInt8 in 1...3 {
            try store.commit(
                testEntry("channels/c/messages/m\(number)", .string("text"), ms: UInt64(number), author: key(number)))
        }
        func unread() throws -> Int { try store.unread(container: channel, afterArrival: 0, notBy: key(1)) }
        #expect(try unread() == 2)
        #expect(try store.setMarks(marks(muted: true), of: key(2)))
        #expect(try unread() == 1)
        #expect(try store.setMarks(marks(blocked: true), of: key(3)))
        #expect(try unread() == 0)
        #expect(try store.setMarks(marks(verified: true), of: key(2)))
        #expect(try unread() == 1)
    }
}
