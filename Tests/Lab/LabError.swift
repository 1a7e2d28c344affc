/// Why something in the lab did not go as a test expected.
public struct LabError: Error, CustomStringConvertible {
    /// The reason, with whatever the failing process had printed.
    public let description: String

    /// An error with this reason.
    public init(_ description: String) {
        self.description = description
    }
}
