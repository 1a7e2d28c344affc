internal import CUTF8Proc

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
        return FoldedText.of(String(seen), UTF8PROC_COMPAT, UTF8PROC_IGNORE)
    }
}
