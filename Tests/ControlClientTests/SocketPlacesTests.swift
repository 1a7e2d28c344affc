import ControlClient
import Testing

struct SocketPlacesTests {
    private func places(
        home: String? = nil, _ environment: [String: String], password: String? = "/home/pw", directory: String = "/cwd"
    ) throws -> SocketPlaces {
        try SocketPlaces(
            home: home,
            .init(environment: environment, passwordHome: password, userID: 1000, currentDirectory: directory))
    }

    @Test func homeIsTheOnlyPlace() throws {
        let option = try places(home: "/x/y/", ["STARLING_HOME": "/z", "HOME": "/h"])
        #expect(option.sockets == ["/x/y/starling.sock"])
        #expect(option.log == "/x/y/starlingd.log")
        #expect(option.home == "/x/y")
        #expect(option.startCommand == "starling --home /x/y daemon start")
        #expect(option.command == "starling --home /x/y")
        let variable = try places(["STARLING_HOME": "rel/dir", "XDG_RUNTIME_DIR": "/run/user/1"])
        #expect(variable.sockets == ["/cwd/rel/dir/starling.sock"])
        #expect(try places(home: "/", [:]).home == "/")
    }

    @Test func withoutHomeBothPlacesOfXDG() throws {
        let session = try places(["HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/s"])
        #expect(session.sockets == ["/run/user/7/starling/starling.sock", "/h/.local/state/starling/starling.sock"])
        #expect(session.log == "/s/starling/starlingd.log")
        #expect(session.home == nil && session.startCommand == "starling daemon start")
        #expect(session.command == "starling")
        let cron = try places(["HOME": "/h", "STARLING_HOME": "", "XDG_RUNTIME_DIR": "relative", "XDG_STATE_HOME": ""])
        #expect(cron.sockets == ["/run/user/1000/starling/starling.sock", "/h/.local/state/starling/starling.sock"])
        #expect(cron.log == "/h/.local/state/starling/starlingd.log")
        #expect(try places([:]).log == "/home/pw/.local/state/starling/starlingd.log")
        #expect(throws: ClientError.noHome) { try places([:], password: nil) }
    }

    @Test func pathsBeyondTheSystemsLimitAreRefused() throws {
        let name = "/starling.sock".utf8.count
        let longest = "/" + String(repeating: "d", count: SocketPlaces.pathMax - name - 1)
        #expect(try places(home: longest, [:]).sockets[0].utf8.count == 107)
        let error = #expect(throws: ClientError.self) { try places(home: longest + "d", [:]) }
        #expect(error == .pathTooLong(longest + "d/starling.sock"))
        #expect(error?.description.contains("has 108 bytes; the system allows 107") == true)
    }

    @Test func theStartCommandCanBePasted() throws {
        #expect(try places(home: "/a b/it's", [:]).startCommand == #"starling --home '/a b/it'\''s' daemon start"#)
        let accent = "\u{301}"
        #expect(
            try places(home: "/a'\(accent)b", [:]).startCommand == "starling --home '/a'\\''\(accent)b' daemon start")
    }
}
