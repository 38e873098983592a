import TapCore
import Testing
