import ControlAPI
import Testing

struct FileNameTests {
    static let names: [(given: String, safe: String)] = [
        ("holiday photo.jpeg", "holiday photo.jpeg"), ("../../etc/passwd", "passwd"), ("..\\boot.ini", "boot.ini"),
        ("/dev/sda", "sda"), ("-rf *", "rf *"), (".bashrc", "bashrc"), ("...", "file"), ("", "file"), ("///", "file"),
        ("a\0b.txt", "a_b.txt"), ("a\nb\r.txt", "a_b_.txt"), ("photo\u{202e}gpj.exe", "photo_gpj.exe"),
        ("~/x ", "x"), ("~root", "root"), ("name. . .", "name"), ("\u{1b}[2J.txt", "_[2J.txt"), ("dir/", "dir"),
        ("a\u{a0}b", "a b"), ("Grüße 日本語 😀.png", "Grüße 日本語 😀.png"), (" -.", "file"),
    ]

    @Test(arguments: names.indices) func isOneComponentThatOneSees(_ index: Int) {
        let (given, safe) = Self.names[index]
        #expect(FileName.safe(given) == safe)
    }

    @Test func longNamesKeepTheirEnd() {
        let name = FileName.safe(String(repeating: "é", count: 300) + ".jpeg")
        #expect(name.utf8.count <= FileName.bytesMax && name.hasSuffix("é.jpeg"))
        #expect(FileName.safe("x." + String(repeating: "y", count: 300)).utf8.count == FileName.bytesMax)
    }
}
