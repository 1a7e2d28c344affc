import Seal
import Store
import Testing
import Tree

/// Which messages there are, in the order in which they arrived here.
@Suite struct MessageIndexTests {
    private let me = Bytes32(repeating: 1)
    private let other = Bytes32(repeating: 2)
    private let text = Value.string("text")

    @Test(arguments: Backend.allCases) func findsContainers(backend: Backend) throws {
        try backend.with { store in
            try store.commit(
                testEntry("channels/c/messages/m1", text, ms: 10), testEntry("dms/d/messages/m1", text, ms: 11),
                testEntry("rooms/r/messages/m2", text, ms: 12), testEntry("apps/x/messages/m3", text, ms: 13),
                testEntry("channels/c/messages/m4/text", text, ms: 14), testEntry("channels/c/topic/m5", text, ms: 15),
                testEntry("channels/c/messages/m6", .null, ms: 16),
                testEntry("channels/c/messages/m7", text, ms: 17, kind: 3))
            #expect(try store.containers(ofMessage: "m1") == [testPath("channels/c"), testPath("dms/d")])
            #expect(try store.containers(ofMessage: "m2") == [testPath("rooms/r")])
            for key in ["m3", "m4", "m5", "m6", "m7"] {
                #expect(try store.containers(ofMessage: key).isEmpty, "\(key)")
            }
        }
    }

    @Test(arguments: Backend.allCases) func unreadIsWhatArrivedAfterTheMark(backend: Backend) throws {
        try backend.with { store in
            let channel = try testPath("channels/c")
            func unread() throws -> Int {
                try store.unread(container: channel, afterArrival: store.readMark(container: channel), notBy: me)
            }
            #expect(try unread() == 0 && store.lastArrival(container: channel) == 0)
            try store.commit(testEntry("channels/c/messages/m5", text, ms: 50, author: other))
            try store.commit(testEntry("channels/c/messages/m6", text, ms: 60, author: me))
            #expect(try unread() == 1)
            try store.setReadMark(container: channel, arrival: store.lastArrival(container: channel))
            #expect(try unread() == 0)
            // Written earlier, by somebody who was offline, and so above the mark in the channel's order.
            try store.commit(testEntry("channels/c/messages/m1", text, ms: 10, author: other))
            try store.commit(testEntry("channels/d/messages/m2", text, ms: 11, author: other))
            #expect(try unread() == 1)
            let mark = try store.readMark(container: channel)
            try store.setReadMark(container: channel, arrival: mark - 1)
            #expect(try store.readMark(container: channel) == mark, "a mark never goes back")
            try store.setReadMark(container: channel, arrival: .max)
            try store.commit(testEntry("channels/c/messages/m7", text, ms: 70, author: other))
            #expect(try unread() == 1, "a mark does not hide what has yet to come")
            #expect(try store.unread(container: channel, afterArrival: 0, notBy: Bytes32(repeating: 3)) == 4)
            try store.setReadMark(container: testPath("channels/new"), arrival: 1)
            #expect(try store.readMark(container: testPath("channels/new")) == 1)
        }
    }

    @Test(arguments: Backend.allCases) func anEditIsNoNewMessage(backend: Backend) throws {
        try backend.with { store in
            let channel = try testPath("channels/c")
            try store.commit(testEntry("channels/c/messages/m1", text, ms: 10, author: other))
            let arrival = try store.lastArrival(container: channel)
            try store.commit(testEntry("channels/c/messages/m1", .string("edited"), ms: 11, author: other))
            try store.commit(testEntry("channels/c/messages/m1/text", .string("edited"), ms: 12, author: other))
            #expect(try store.lastArrival(container: channel) == arrival)
            #expect(try store.unread(container: channel, afterArrival: 0, notBy: me) == 1)
        }
    }

    @Test(arguments: Backend.allCases) func deletedMessagesAreGone(backend: Backend) throws {
        try backend.with { store in
            let channel = try testPath("channels/c")
            for index in 0..<4 {
                try store.commit(
                    testEntry("channels/c/messages/m\(index)", text, ms: UInt64(10 + index), author: other))
            }
            let before = try store.lastArrival(container: channel)
            try store.commit(testEntry("channels/c/messages/m1", .null, ms: 20, author: other))
            #expect(try store.containers(ofMessage: "m1").isEmpty)
            #expect(try store.unread(container: channel, afterArrival: 0, notBy: me) == 3)
            try store.commit(testEntry("channels/c", .null, ms: 30, author: other))
            #expect(try store.unread(container: channel, afterArrival: 0, notBy: me) == 0)
            #expect(try store.containers(ofMessage: "m2").isEmpty)
            try store.commit(testEntry("channels/c/messages/m9", text, ms: 40, author: other))
            #expect(try store.lastArrival(container: channel) > before, "no number is given twice")
        }
    }

    @Test(arguments: Backend.allCases) func heldMessagesArriveWhenTheyAreDue(backend: Backend) throws {
        try backend.with { store in
            try store.commit(
                testEntry("channels/c/messages/m1", text, ms: 1000, author: other), heldAfter: HLC(ms: 500))
            #expect(try store.containers(ofMessage: "m1").isEmpty)
            _ = try store.release(heldAfter: HLC(ms: 1000))
            #expect(try store.containers(ofMessage: "m1") == [testPath("channels/c")])
        }
    }

    @Test(arguments: Backend.allCases) func countingEnds(backend: Backend) throws {
        try backend.with { store in
            let entries = try (0..<1100).map { index in
                try testEntry("channels/c/messages/m\(index)", .integer(1), ms: UInt64(10 + index), author: other)
            }
            _ = try store.commit([testBundle(entries)], heldAfter: farFuture)
            let channel = try testPath("channels/c")
            #expect(try store.unread(container: channel, afterArrival: 0, notBy: me) == 1000)
        }
    }
}
