import TapLog
import Testing
