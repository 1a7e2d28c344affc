/// The version of both programs, as `--version` and `hello` give it.
public enum StarlingVersion {
    public static let current = "0.1.0"
}
