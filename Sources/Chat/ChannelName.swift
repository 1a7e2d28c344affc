public import Seal
public import Tree

/// A public channel's name, and the key that certifies it.
///
/// Names are compared folded: Unicode NFC and case fold as utf8proc does them, because two people who type one name on
/// machines that never met must get one key.
public struct ChannelName: Sendable, Hashable, CustomStringConvertible {
    /// UTF-8 bytes of a folded name.
    public static let sizeMax = 80
    /// UTF-8 bytes of a name as it is written; nothing longer folds to 80 bytes. Spares the work on what others write.
    public static let textSizeMax = 320
    /// The channel that is there from the start.
    public static let general = "general"

    /// As it was written, without `#`.
    public let text: String
    /// What is compared and hashed.
    public let folded: String

    /// - Parameter text: the name, with or without a leading `#`.
    public init(_ text: String) throws(ChannelNameError) {
        let bare = text.utf8.first == 0x23 ? String(text.dropFirst()) : text
        guard !bare.isEmpty else { throw .empty }
        guard bare.utf8.count <= ChannelName.textSizeMax else { throw .tooLong }
        for scalar in bare.unicodeScalars {
            let properties = scalar.properties
            guard !properties.isWhitespace, properties.generalCategory != .control,
                properties.generalCategory != .format
            else { throw .forbiddenCharacter }
        }
        guard bare.utf8.first != 0x23, bare.utf8.first != 0x40 else { throw .forbiddenCharacter }
        guard let folded = ChannelName.fold(bare) else { throw .forbiddenCharacter }
        guard folded.utf8.count <= ChannelName.sizeMax else { throw .tooLong }
        self.text = bare
        self.folded = folded
    }

    /// NFC and case fold; nil for what utf8proc refuses, and for what is too long to be a name.
    public static func fold(_ text: String) -> String? {
        text.utf8.count <= textSizeMax ? FoldedText.of(text) : nil
    }

    /// The key of the channel with this name in a workspace.
    public func key(workspace: Bytes32) -> Key? {
        Key(AutoID.nameKey(foldedName: folded, workspace: workspace))
    }

    public var description: String { "#" + text }
}

/// Why something is no channel name.
public enum ChannelNameError: Error, Equatable, Sendable, CustomStringConvertible {
    case empty
    case tooLong
    case forbiddenCharacter

    public var description: String {
        switch self {
        case .empty: "a channel name is empty"
        case .tooLong: "a channel name has more than 80 bytes"
        case .forbiddenCharacter: "a channel name may not contain spaces or control characters, nor begin with # or @"
        }
    }
}
