#include "FramewatchModule.h"

#include "HAL/Event.h"
#include "HttpModule.h"
#include "Interfaces/IHttpRequest.h"
#include "Interfaces/IHttpResponse.h"
#include "Misc/CoreDelegates.h"
#include "Misc/Paths.h"
#include "RHI.h"

extern "C" {
#include "framewatch.h"
}

DEFINE_LOG_CATEGORY_STATIC(LogFramewatch, Log, All);
IMPLEMENT_MODULE(FFramewatchModule, Framewatch)

namespace
{
void Say(void*, fw_log_level Level, const char* Text)
{
    if (Level == FW_LOG_ERROR)
        UE_LOG(LogFramewatch, Error, TEXT("%s"), UTF8_TO_TCHAR(Text));
    else
        UE_LOG(LogFramewatch, Log, TEXT("%s"), UTF8_TO_TCHAR(Text));
}

fw_network KindOfNetwork(void*)
{
    switch (FPlatformMisc::GetNetworkConnectionType())
    {
    case ENetworkConnectionType::WiFi: return FW_NETWORK_WIFI;
    case ENetworkConnectionType::Ethernet: return FW_NETWORK_WIRED;
    case ENetworkConnectionType::Cell: return FW_NETWORK_CELLULAR;
    case ENetworkConnectionType::None:
    case ENetworkConnectionType::AirplaneMode: return FW_NETWORK_NONE;
    default: return FW_NETWORK_UNKNOWN;
    }
}

// Lives until both sides are done with it: an answer may come after the wait has ended.
struct FExchange
{
    FEvent* Done = FPlatformProcess::GetSynchEventFromPool(true);
    FHttpResponsePtr Response;
    ~FExchange() { FPlatformProcess::ReturnSynchEventToPool(Done); }
};

// On the SDK's uploading thread, which waits here.
int Exchange(void*, fw_http_request* Request)
{
    TSharedRef<IHttpRequest, ESPMode::ThreadSafe> Http = FHttpModule::Get().CreateRequest();
    TSharedRef<FExchange, ESPMode::ThreadSafe> State = MakeShared<FExchange, ESPMode::ThreadSafe>();

    Http->SetVerb(UTF8_TO_TCHAR(Request->method));
    Http->SetURL(UTF8_TO_TCHAR(Request->url));
    Http->SetTimeout(Request->timeout_ms / 1000.0f);
    Http->SetDelegateThreadPolicy(EHttpRequestDelegateThreadPolicy::CompleteOnHttpThread);
    for (const char* const* Header = Request->headers; *Header; Header++)
    {
        FString Name, Value;
        if (FString(UTF8_TO_TCHAR(*Header)).Split(TEXT(":"), &Name, &Value))
            Http->SetHeader(Name, Value.TrimStartAndEnd());
    }
    Http->SetContent(TArray<uint8>(static_cast<const uint8*>(Request->body), Request->body_len));
    Http->OnProcessRequestComplete().BindLambda([State](FHttpRequestPtr, FHttpResponsePtr Response, bool bOk) {
        if (bOk)
            State->Response = Response;
        State->Done->Trigger();
    });
    Request->status = 0;
    if (!Http->ProcessRequest() || !State->Done->Wait(Request->timeout_ms + 1000) || !State->Response)
        return 0;
    Request->status = State->Response->GetResponseCode();
    for (const FString& Line : State->Response->GetAllHeaders())
    {
        FString Name, Value;
        if (Line.Split(TEXT(":"), &Name, &Value))
            Request->on_header(Request->sink, TCHAR_TO_UTF8(*Name), TCHAR_TO_UTF8(*Value.TrimStartAndEnd()));
    }
    const TArray<uint8>& Body = State->Response->GetContent();
    Request->on_body(Request->sink, Body.GetData(), Body.Num());
    return 0;
}
}

bool FFramewatchModule::Start(const FFramewatchSettings& S)
{
    const FTCHARToUTF8 Url(*S.ServerUrl), Key(*S.ApiKey), App(*S.App), Version(*S.VersionName), Build(*S.BuildId);
    const FTCHARToUTF8 Storage(*FPaths::ConvertRelativePathToFull(FPaths::ProjectPersistentDownloadDir() / TEXT("Framewatch")));
    const FTCHARToUTF8 Gpu(*GRHIAdapterName);
    fw_options O;

    if (Fw)
        return true;
    Given = S;
    fw_options_init(&O);
    O.server_url = Url.Get();
    O.api_key = Key.Get();
    O.storage_path = Storage.Get();
    O.app = App.Get();
    O.version_name = Version.Get();
    O.build_id = Build.Get();
    O.version_code = S.VersionCode;
    O.device.gpu = Gpu.Get();
    O.target_interval_us = S.TargetIntervalUs;
    O.flags = S.bWaitForConsent ? FW_WAIT_FOR_CONSENT : 0;
    O.transport = Exchange;
    O.network = KindOfNetwork;
    O.log = Say;
    O.user = this;
    O.host_values = TellHostValues;
    if (S.Environment)
        O.environment = TellEnvironment;
    Fw = fw_start(&O);
    if (!Fw)
        return false;
    Temperature = FCoreDelegates::OnTemperatureChange.AddRaw(this, &FFramewatchModule::OnTemperature);
    EndFrame = FCoreDelegates::OnEndFrame.AddRaw(this, &FFramewatchModule::OnEndFrame);
    Background = FCoreDelegates::ApplicationWillEnterBackgroundDelegate.AddLambda([this] { fw_background(Fw); });
    Foreground = FCoreDelegates::ApplicationHasEnteredForegroundDelegate.AddLambda([this] { fw_foreground(Fw); });
    LowMemory = FCoreDelegates::GetMemoryTrimDelegate().AddLambda([this] { fw_low_memory(Fw); });
    return true;
}

void FFramewatchModule::OnEndFrame()
{
    fw_frame(Fw);
    if (const uint32 Cycles = RHIGetGPUFrameCycles())
        fw_gpu_time(Fw, static_cast<uint32>(FPlatformTime::ToMilliseconds(Cycles) * 1000.0f));
}

// Android tells its own status in these words, iOS its thermalState; both as docs/engines.md maps them.
void FFramewatchModule::OnTemperature(FCoreDelegates::ETemperatureSeverity Severity)
{
    switch (Severity)
    {
    case FCoreDelegates::ETemperatureSeverity::Good: ThermalStatus = 0; break;
    case FCoreDelegates::ETemperatureSeverity::Bad: ThermalStatus = PLATFORM_IOS ? 1 : 2; break;
    case FCoreDelegates::ETemperatureSeverity::Serious: ThermalStatus = 3; break;
    case FCoreDelegates::ETemperatureSeverity::Critical: ThermalStatus = PLATFORM_IOS ? 4 : 5; break;
    default: ThermalStatus = -1;
    }
}

void FFramewatchModule::TellHostValues(void* Module, fw_host_values* Values)
{
    const FFramewatchModule* Self = static_cast<const FFramewatchModule*>(Module);
    const int32 Percent = FPlatformMisc::GetBatteryLevel();

    if (Percent >= 0)
    {
        Values->battery_permille = Percent * 10;
        Values->charging = !FPlatformMisc::IsRunningOnBattery();
    }
    Values->thermal_status = Self->ThermalStatus;
    if (Self->Given.HostValues)
        Self->Given.HostValues(*Values);
}

size_t FFramewatchModule::TellEnvironment(void* Module, fw_evidence* Rows, size_t Max)
{
    return static_cast<const FFramewatchModule*>(Module)->Given.Environment(Rows, Max);
}

void FFramewatchModule::Stop()
{
    FCoreDelegates::OnTemperatureChange.Remove(Temperature);
    FCoreDelegates::OnEndFrame.Remove(EndFrame);
    FCoreDelegates::ApplicationWillEnterBackgroundDelegate.Remove(Background);
    FCoreDelegates::ApplicationHasEnteredForegroundDelegate.Remove(Foreground);
    FCoreDelegates::GetMemoryTrimDelegate().Remove(LowMemory);
    fw_stop(Fw);
    Fw = nullptr;
}

void FFramewatchModule::Scene(const FString& Mode, const FString& Map)
{
    fw_scene(Fw, TCHAR_TO_UTF8(*Mode), TCHAR_TO_UTF8(*Map), nullptr, 0);
}

void FFramewatchModule::Step(const FString& Name)
{
    fw_step(Fw, TCHAR_TO_UTF8(*Name));
}

void FFramewatchModule::Consent(bool bGiven)
{
    fw_consent(Fw, bGiven);
}

FString FFramewatchModule::SessionId() const
{
    char Id[33];

    fw_session_id(Fw, Id);
    return UTF8_TO_TCHAR(Id);
}

void FFramewatchModule::ShutdownModule()
{
    Stop();
}
