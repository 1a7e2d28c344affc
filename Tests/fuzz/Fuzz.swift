internal import Fuzzing
internal import Glibc

/// Named by the environment, so that one build serves all targets. Not at the top level: nothing of that is carried out
/// where `main` is another's.
private enum Chosen {
    static let target = unsafe getenv("STARLING_FUZZ_TARGET").flatMap {
        unsafe FuzzTarget(rawValue: String(cString: $0))
    }
}

/// What libFuzzer's `main` calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let target = Chosen.target else { preconditionFailure("STARLING_FUZZ_TARGET names no target") }
    do {
        try target.run(input)
    } catch {
        preconditionFailure("\(error)")
    }
    return 0
}
