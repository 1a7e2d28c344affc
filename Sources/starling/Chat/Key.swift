/// A key press, or what was pasted.
enum Key: Sendable, Equatable {
    /// What was typed, or came in one piece.
    case text(String)
    case paste(String)
    /// What was pasted is longer than a message may be.
    case pasteTooLong
    case enter
    /// Alt and Enter: a new line within the message.
    case newline
    case tab, backspace, delete, escape
    case left, right, up, down, home, end
    case wordLeft, wordRight
    case deleteWordLeft, deleteWordRight
    /// Ctrl and a letter, in lower case, that has no meaning above.
    case control(Character)
}
