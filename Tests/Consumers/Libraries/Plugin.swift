import Foundation
import FoundationNetworking

/// A library with a session inside, which a program loads by dlopen(3).
private let session = URLSession(configuration: .default, delegate: nil, delegateQueue: nil)

/// The status of a response.
@_cdecl("fetch") public func fetch(_ url: UnsafePointer<CChar>) -> Int32 {
  guard let url = URL(string: String(cString: url)) else { return -1 }
  nonisolated(unsafe) var status: Int32 = 0
  let done = DispatchSemaphore(value: 0)
  session.dataTask(with: url) { _, response, _ in
    status = Int32((response as? HTTPURLResponse)?.statusCode ?? 0)
    done.signal()
  }.resume()
  done.wait()
  return status
}
