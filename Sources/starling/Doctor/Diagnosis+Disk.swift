internal import ControlAPI

extension Diagnosis {
    /// Less than this, and a burst of messages fills the disk.
    private static let freeBytesMin: Int64 = 16 << 20
    /// Less than this is worth a word.
    private static let freeBytesLow: Int64 = 200 << 20

    var disk: Check {
        guard let disk = evidence.disk else { return .skipped("disk", "\(evidence.home) cannot be looked at") }
        let words = "\(Words.bytes(disk.freeBytes)) of \(Words.bytes(disk.totalBytes)) are free at \(evidence.home)"
        let find = "du -xhd1 \"$HOME\" | sort -h"
        if evidence.diagnosis?.isDiskFull == true, disk.freeBytes >= Diagnosis.freeBytesLow {
            // It tries again by itself, so this is not old.
            return .problem(
                "disk",
                "\(words), and yet the daemon could not store anything when it tried last, seconds ago: your share of "
                    + "the disk (quota) or the number of its files may be used up",
                "quota -s; df -i \(ShellWord.quoted(evidence.home))")
        }
        if evidence.diagnosis?.isDiskFull == true || disk.freeBytes < Diagnosis.freeBytesMin {
            return .problem("disk", "\(words): what others write cannot be stored, and nothing can be sent", find)
        }
        return disk.freeBytes < Diagnosis.freeBytesLow ? .warning("disk", words, find) : .ok("disk", words)
    }

    private var databasePath: String { "\(evidence.home)/workspace.db" }

    var database: Check {
        let stop = own("daemon stop")
        if let diagnosis = evidence.diagnosis {
            switch diagnosis.database {
            case .damaged:
                return .problem(
                    "database",
                    "\(databasePath) is damaged: \(diagnosis.damage ?? ""); what it held can be had again from others",
                    "\(stop); mv \(ShellWord.quoted(databasePath)) \(ShellWord.quoted(databasePath + ".damaged")); "
                        + "rm -f \(ShellWord.quoted(databasePath + "-wal")); \(own("daemon start"))")
            case .partly:
                return setAside
                    ?? .ok(
                        "database",
                        "the daemon reads and writes it; it is too large to be looked through meanwhile. To do that: "
                            + "\(stop) && sqlite3 \(ShellWord.quoted(databasePath)) 'PRAGMA quick_check'")
            default: return setAside ?? .ok("database", "\(databasePath) is sound")
            }
        }
        switch evidence.databaseFile {
        case .absent: return .ok("database", "there is none yet")
        case .begins: return setAside ?? .ok("database", "\(databasePath) begins as it should; the daemon knows more")
        case .foreign:
            return .problem(
                "database", "\(databasePath) is no database; the daemon sets it aside and has it again from others",
                own("daemon start"))
        }
    }

    private var setAside: Check? {
        guard !evidence.setAside.isEmpty else { return nil }
        let paths = evidence.setAside.map(ShellWord.quoted).joined(separator: " ")
        return .warning(
            "database",
            "a damaged database was set aside, and a new one filled from others; the disk may be failing. When nothing "
                + "is missing, delete the old one", "rm \(paths)", "sudo smartctl -H /dev/sda")
    }

    /// What others could read or change, or what belongs to somebody else.
    var files: Check {
        var words: [String] = []
        var mend: [String] = []
        for file in evidence.files {
            let path = ShellWord.quoted(file.path)
            if let link = link(file) {
                words.append("\(file.path) is a symbolic link \(link.words)")
                mend.append(link.mend)
            } else if file.owner != evidence.user {
                words.append("\(file.path) belongs to another user")
                mend.append("sudo chown \"$USER\": \(path)")
            } else if file.mode & 0o077 != 0 {
                words.append("others can use \(file.path) (mode \(String(file.mode, radix: 8)))")
                mend.append("chmod \(file.kind == .folder ? "700" : "600") \(path)")
            }
        }
        guard words.isEmpty else {
            return Check(name: "files", level: .problem, saw: words.joined(separator: "; "), mend: mend)
        }
        return .ok("files", evidence.files.isEmpty ? "there are none yet" : "nobody else can read or change them")
    }

    /// What is wrong with a link. Behind one there may be the only copy of a key, so none is simply deleted.
    private func link(_ file: FileFacts) -> (words: String, mend: String)? {
        let path = ShellWord.quoted(file.path)
        switch file.kind {
        case .foreignLink:
            return (
                "of another user, who could lead it elsewhere",
                "sudo chown -h \"$USER\": \(path)   # if it leads where it should: ls -l \(path)"
            )
        case .brokenLink:
            return ("that leads nowhere", "ls -l \(path)   # mount or make the folder that it leads to")
        case .link where ["/starling.sock", "/lock"].contains(where: file.path.hasSuffix):
            // Made anew at each start.
            return ("and not followed", "rm \(path)")
        case .link:
            return (
                "and not followed: put what it leads to in its place",
                "cp -p --remove-destination \"$(readlink -f \(path))\" \(path)"
            )
        default: return nil
        }
    }

    var identity: Check {
        guard let diagnosis = evidence.diagnosis else {
            return .skipped("identity", "without a daemon nobody tells whether another machine has this identity")
        }
        let clones = diagnosis.notices.filter { $0.kind == .clone }
        guard !clones.isEmpty else { return .ok("identity", "no other machine has this identity") }
        if let notice = clones.first(where: { $0.uid == evidence.uid }) {
            return .problem("identity", notice.text, own("identity new"))
        }
        return .warning(
            "identity", clones.map(\.text).joined(separator: "; "), "on one of the two machines: starling identity new")
    }
}

enum ShellWord {
    /// The word as a shell takes it, in quotes where it needs them.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
