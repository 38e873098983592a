import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Metrics
import ServiceLifecycle
import SessionTap
import TapAsyncHTTPClient
import TapBootstrap
import TapEverySession
import TapHummingbird
import TapLogging
import TapMetrics
import TapServiceLifecycle
import TapTracing
import Tracing

// Beside all that a server-side app imports, no name of SessionTap's is ambiguous.

/// The public types, by their names alone.
let names: [Any.Type] = [
  ActiveRequest.self, (any Collector).self, Endpoint.self, EndpointAddress.self, EndpointError.self,
  EverySession.self,
  ExemplarPolicy.self, Exposition.self, ExpositionFormat.self, Family<String, Registry.Counter>.self,
  FieldValue.self, HistogramBuckets.self, InboundRequests.self, Label<Int>.self, (any LabelSet).self,
  Labels.self, LogRedaction.self, LogRotation.self, LogSampling.self, LogSeverity.self,
  (any LogSink).self, MetricFamily.self, NetworkProtocolVersion.self,
  OutboundRequests.self, PathTemplateError.self, PathTemplates.self, PushGateway.self,
  Registry.self, RegistryError.self, RequestDescription.self, RequestDirection.self,
  RequestEnd.self, RequestErrorType.self, RequestLog.self, RequestLogError.self,
  RequestObservation.self, (any RequestObserver).self, RequestConfiguration.self, RequestRecorder.self,
  RequestTimings.self, (any RequestTracer).self, RequestSnapshot.self, RequestWait.self,
  SeriesConfiguration.self, Tap.self, TapError.self,
  TapRequestContext.self, Timestamp.self, TraceContext.self, UpstreamTime.self,
  URLSessionTap.self,
]

/// Those of the adapters.
let adapters: [Any.Type] = [
  TapHTTPClient.self, TapInstrument.self, TapLogHandler.self, TapMetricsFactory.self,
  TapMiddleware<BasicRequestContext>.self, TapResponder<RouterResponder<BasicRequestContext>>.self,
  TapService.self,
]
