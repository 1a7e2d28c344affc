/// The words that this process was started with.
public enum ProcessWords {
    /// All of them but the program's name. Swift's own list replaces what is not UTF-8, and other text than was written
    /// would be sent.
    ///
    /// - Throws: ``UsageError`` that says which word is not UTF-8, counted from 1.
    public static func read() throws(UsageError) -> [String] {
        var words: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = unsafe CommandLine.unsafeArgv[index] else { break }
            guard let word = unsafe String(validatingCString: bytes) else {
                throw UsageError(path: [], message: "word \(index) of the command line is not UTF-8")
            }
            words.append(word)
        }
        return words
    }
}
