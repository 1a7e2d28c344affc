internal import CUTF8Proc
internal import Glibc

/// A person's name, as far as names are compared at all: who has it is for keys to say. It is only to be known which
/// names look alike, and what a name that was typed may mean.
public enum PersonName {
    /// Compatibility forms (so width does not matter), case fold, without spaces and without what is not seen; nil for
    /// what utf8proc refuses, what is too long to be a name, and where nothing is left.
    ///
    /// Letters of different scripts that look alike are different here.
    public static func fold(_ text: String) -> String? {
        guard text.utf8.count <= ChannelName.textSizeMax else { return nil }
        var seen = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !scalar.properties.isWhitespace { seen.append(scalar) }
        var input = String(seen)
        return input.withUTF8 { utf8 -> String? in
            var output: UnsafeMutablePointer<UInt8>?
            let options =
                UTF8PROC_COMPOSE.rawValue | UTF8PROC_COMPAT.rawValue | UTF8PROC_CASEFOLD.rawValue
                | UTF8PROC_IGNORE.rawValue | UTF8PROC_STABLE.rawValue
            let count = unsafe utf8proc_map(
                utf8.baseAddress, utf8.count, &output, utf8proc_option_t(rawValue: options))
            guard let bytes = unsafe output else { return nil }
            defer { unsafe free(bytes) }
            guard count > 0 else { return nil }
            return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }
    }
}
