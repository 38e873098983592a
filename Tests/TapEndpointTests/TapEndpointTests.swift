import TapEndpoint
import Testing
