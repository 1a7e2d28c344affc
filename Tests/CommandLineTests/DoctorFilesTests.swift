import ControlClient
import Foundation
import Testing

@testable import starling

/// What doctor sees of the daemon's files, in a folder of its own.
final class DoctorFilesTests {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "/starling-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A folder called `data` that only its owner may use.
    private func data() throws -> String {
        let path = folder + "/data"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return path
    }

    private func write(_ path: String, mode: mode_t, _ text: String = "") throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        _ = unsafe chmod(path, mode)
    }

    /// The check of what is in a home.
    private func check(_ home: String) throws -> Check {
        let places = try SocketPlaces(home: home, .ofProcess())
        var evidence = Evidence()
        evidence.user = geteuid()
        evidence.files = Examination.files(
            home: home, SmallFile.names(in: home), places, user: evidence.user)
        return Diagnosis(evidence: evidence).files
    }

    /// Whoever keeps the data on a larger disk and leads there by a link has done nothing wrong.
    @Test func aLinkToTheFolderIsFollowed() throws {
        let (data, link) = (try data(), folder + "/link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: data)
        try write(data + "/identity.key", mode: 0o600)
        #expect(FileFacts.folder(link, user: geteuid())?.kind == .folder)
        #expect(try check(link) == .ok("files", "nobody else can read or change them"))
        _ = unsafe chmod(data, 0o755)
        #expect(try check(link).mend == ["chmod 700 \(link)"])
        try FileManager.default.removeItem(atPath: data)
        #expect(try check(link).saw.contains("leads nowhere"))
    }

    /// Whatever keeps the daemon from starting, as after a copy without its modes.
    @Test(arguments: [
        "identity.key", "identity-\(String(repeating: "7", count: 16)).key", "workspace.key", "workspace.db",
        "workspace-0123456789abcdef.key", "workspace-0123456789abcdef.db", "workspace.db-wal", "starlingd.log.1",
    ]) func whatOthersCanReadIsNamed(_ name: String) throws {
        let data = try data()
        try write("\(data)/\(name)", mode: 0o600)
        #expect(try check(data).level == .ok)
        _ = unsafe chmod("\(data)/\(name)", 0o644)
        #expect(try check(data).mend == ["chmod 600 \(data)/\(name)"])
    }

    /// A home may be any folder.
    @Test(arguments: ["workspace-plans.txt", "notes", "workspaces"]) func othersFilesAreNobodysMatter(_ name: String)
        throws
    {
        let data = try data()
        try write("\(data)/\(name)", mode: 0o644)
        #expect(try check(data).level == .ok)
    }

    /// Why a daemon does not run its log may tell.
    @Test(arguments: [
        ("2026-01-01T00:00:00.000Z error others can read /k\n", "error others can read /k"),
        ("starlingd: --name is given twice\n", "given twice"),
        ("2026-01-01T00:00:00.000Z error the disk\n2026-01-01T00:00:01.000Z info signal 15: stopping\n", nil),
        ("2026-01-01T00:00:00.000Z info an error\n", nil), ("", nil),
    ]) func theEndOfTheLog(_ text: String, _ words: String?) throws {
        let log = folder + "/log"
        #expect(Examination.lastError(log) == nil)
        try write(log, mode: 0o600, text)
        var evidence = Evidence()
        evidence.lastError = Examination.lastError(log)
        let saw = Diagnosis(evidence: evidence).daemon.saw
        #expect(saw.contains("its log ends with") == (words != nil) && saw.hasSuffix(words ?? ""), "\(saw)")
    }

    @Test func anothersLinkToTheFolderIsNamed() throws {
        let (data, link) = (try data(), folder + "/link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: data)
        // Root can give it away; anybody else is another user to somebody.
        var user = geteuid()
        if user == 0 { _ = unsafe lchown(link, 1, 1) } else { user += 1 }
        #expect(FileFacts.folder(link, user: user)?.kind == .foreignLink)
    }
}
