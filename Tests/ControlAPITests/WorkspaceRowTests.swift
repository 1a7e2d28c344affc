import ControlAPI
import Testing

/// The JSON of a workspace is part of the fixed surface.
struct WorkspaceRowTests {
    @Test func aPrivateOne() throws {
        var row = WorkspaceRow(name: "team", id: "ab", isPrivate: true)
        row.members = 3
        row.epoch = 1
        row.creator = "u"
        row.creatorName = "ann"
        row.kept = ["/x"]
        #expect(
            row.json.description
                == #"{"name":"team","id":"ab","private":true,"readers":"members","members":3,"epoch":1,"creator":"u","#
                + #""creatorName":"ann","kept":["/x"]}"#)
        #expect(try WorkspaceRow(json: row.json) == row)
    }

    @Test func theOpenOne() throws {
        var row = WorkspaceRow(name: "open", id: "cd", isPrivate: false)
        row.isPaused = true
        row.networks = ["10.0.0.0/8"]
        row.network = ["10.1.0.0/16", "fd00::/64"]
        #expect(
            row.json.description
                == #"{"name":"open","id":"cd","private":false,"readers":"anybody on the network","paused":true,"#
                + #""networks":["10.0.0.0/8"],"network":["10.1.0.0/16","fd00::/64"]}"#)
        #expect(try WorkspaceRow(json: row.json) == row)
        #expect(throws: RPCError.self) { try WorkspaceRow(json: ["name": "x", "id": "y", "private": 1]) }
    }
}
