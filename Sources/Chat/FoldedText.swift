internal import CUTF8Proc
internal import Glibc

/// Text in the form in which it is compared.
enum FoldedText {
    /// Composed and without case, and what `options` say besides; nil for what utf8proc refuses, and where nothing is
    /// left.
    static func of(_ text: String, _ options: utf8proc_option_t...) -> String? {
        let all = [UTF8PROC_COMPOSE, UTF8PROC_CASEFOLD, UTF8PROC_STABLE] + options
        let mask = utf8proc_option_t(rawValue: all.reduce(0) { $0 | $1.rawValue })
        var input = text
        return input.withUTF8 { utf8 -> String? in
            var output: UnsafeMutablePointer<UInt8>?
            let count = unsafe utf8proc_map(utf8.baseAddress, utf8.count, &output, mask)
            guard let bytes = unsafe output else { return nil }
            defer { unsafe free(bytes) }
            guard count > 0 else { return nil }
            return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }
    }
}
