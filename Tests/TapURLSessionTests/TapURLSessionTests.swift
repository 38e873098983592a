import TapURLSession
import Testing
