"""A program that waits as one on a GPU would, through a CUPTI that a test has made. usage: fake_program.py CUPTI RECORDER WHAT [CUPTI_VERSION]"""

import ctypes
import os
import signal
import sys
import threading
import time

cupti = ctypes.CDLL(sys.argv[1])
cupti.fake_call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]
cupti.fake_sleep.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
cupti.fake_work.argtypes = [ctypes.c_uint64, ctypes.c_int]
cupti.fake_sleep_for_worker.argtypes = [ctypes.c_uint64]
FUNCTION = ctypes.CFUNCTYPE(None)
stream = (ctypes.c_uint64 * 8)(7)
NOT_READY = 600


def begin():
    ctypes.CDLL(sys.argv[2]).InitializeInjection()


def call(name, nanoseconds=0, result=0):
    cupti.fake_call(name.encode(), ctypes.addressof(stream), nanoseconds, result)


class Model:
    def method(self):
        return [call("cuStreamSynchronize") for _ in range(2)]  # comprehension


def generator():
    call("cuStreamSynchronize")  # generator
    yield 1


def in_thread():
    call("cuStreamSynchronize")  # thread


def stacks():
    Model().method()
    list(generator())
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    (lambda: call("cuStreamSynchronize"))()  # lambda
    größe = eval("lambda: call('cuStreamSynchronize')")
    größe()  # eval


def steps():
    for number in range(30):
        call("cuStreamSynchronize", 20_000_000 if number == 0 else 100_000)  # first of a step
        call("cuEventSynchronize", 50_000)  # second of a step
    call("cuMemAlloc_v2", 1000)


def polls():
    for _ in range(9):
        call("cuStreamQuery", 0, NOT_READY)  # loop
    call("cuStreamQuery")
    for _ in range(3):  # too few for a loop
        call("cuStreamQuery", 0, NOT_READY)
    call("cuLaunchKernel")
    call("cuStreamSynchronize")


def forks():
    call("cuStreamSynchronize")
    child = os.fork()
    if child == 0:
        call("cuStreamSynchronize")
        os._exit(0)
    os.waitpid(child, 0)
    call("cuStreamSynchronize")


def dies():
    for _ in range(100):
        call("cuStreamSynchronize")
    os.kill(os.getpid(), signal.SIGKILL)


def threads():
    def many():
        for _ in range(500):
            call("cuStreamSynchronize")

    all_of_them = [threading.Thread(target=many) for _ in range(8)]
    [thread.start() for thread in all_of_them]
    [thread.join() for thread in all_of_them]


def sleeps():
    for _ in range(10):
        cupti.fake_sleep(b"futex", b"cuda-fake", 2_000_000)  # futex
        cupti.fake_sleep(b"condition", b"cuda-fake", 2_000_000)  # condition
        cupti.fake_sleep(b"semaphore", b"cuda-fake", 2_000_000)  # semaphore
        cupti.fake_sleep_for_worker(2_000_000)  # worker
        for how in (b"futex", b"condition", b"semaphore"):
            cupti.fake_sleep(how, b"compiler", 2_000_000)  # nothing of a GPU's
    thread = threading.Thread(target=lambda: cupti.fake_sleep(b"futex", b"cuda-fake", 2_000_000))  # in a thread
    thread.start()
    thread.join()  # waits for a thread that waits
    done = threading.Event()
    callback = FUNCTION(done.set)
    cupti.fake_host_callback(callback)
    done.wait()  # python in a callback


def callbacks():
    call("cuLaunchHostFunc")
    cupti.fake_sleep(b"futex", b"compiler", 2_000_000)


def locks():
    """The main thread waits for Python's lock, which a host callback has."""
    done = []

    def spin():
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            pass
        done.append(1)

    callback = FUNCTION(spin)
    cupti.fake_host_callback(callback)
    while not done:
        pass


def ranges():
    cupti.fake_push(b"epoch 1")
    cupti.fake_push(b"forward")
    call("cuStreamSynchronize")
    cupti.fake_pop()
    inside = FUNCTION(lambda: call("cuEventSynchronize"))
    cupti.fake_within(b"loader", b"decode", inside)
    cupti.fake_pop()
    call("cuCtxSynchronize_v2")


def work():
    call("cuStreamSynchronize")
    cupti.fake_work(time.monotonic_ns(), 3)


def fills_the_file():
    """Every wait has a stack of its own, so that none of what it refers to is in the file already."""
    for code in [compile("call('cuStreamSynchronize')", f"<generated {number}>", "exec") for number in range(400)]:
        exec(code, globals())
    if len(sys.argv) > 4:
        cupti.fake_work(time.monotonic_ns(), 3)


def fills_the_file_and_dies():
    fills_the_file()
    os.kill(os.getpid(), signal.SIGKILL)


def generated():
    """Each code object is freed before the next, which comes to lie in its place."""
    for number in range(400):
        exec(compile("cupti.fake_call(b'cuStreamSynchronize', ctypes.addressof(stream), 0, 0)", f"<generated {number}>", "exec"), globals())


def taken():
    call("cuStreamSynchronize")


def works_on():
    """Until it is killed, or told to go on."""
    work()
    print("at work", flush=True)
    sys.stdin.readline()


def works_and_forks():
    """Children begin while the parent's records are written."""
    for _ in range(20):
        work()
        child = os.fork()
        if child == 0:
            call("cuStreamSynchronize")
            sys.exit(0)  # by the recorder's end, too
        assert os.waitpid(child, 0)[1] == 0


def executes():
    """A child that is another program."""
    call("cuStreamSynchronize")
    child = os.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, __file__, *sys.argv[1:3], "polls"])
    os.waitpid(child, 0)


def crashes():
    call("cuStreamSynchronize")
    sys.stdout.flush()
    os.abort()


def leaves_at_once():
    call("cuStreamSynchronize")
    print("done", flush=True)
    os._exit(4)


LONG_ONLY = ("cuCtxDestroy_v2", "cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxRelease_v2", "cuIpcOpenMemHandle_v2", "cuCtxEnablePeerAccess",
             "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuGraphUpload", "cuGraphExecDestroy", "cuGraphicsMapResources")  # fmt: skip


def resources():
    for name in LONG_ONLY:
        call(name, 1_000_000)
        call(name)


def newer_python():
    stacks()


def unlocked_python():
    stacks()


told = []


def pretend(version):
    """To be another interpreter, for whoever asks this one's version: `mov rax, text; ret`."""
    told.append(ctypes.create_string_buffer(version))
    function = ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p).value
    page = function & ~0xFFF
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(0x2000), 7)
    ctypes.memmove(function, b"\x48\xb8" + ctypes.addressof(told[0]).to_bytes(8, "little") + b"\xc3", 11)


if sys.argv[3] == "newer_python":
    pretend(b"3.14.2 (main)")
if sys.argv[3] == "unlocked_python":
    pretend(b"3.13.1 experimental free-threading build (main)")
if sys.argv[3] == "taken":
    cupti.fake_take()
if len(sys.argv) > 4:
    cupti.fake_version(int(sys.argv[4]))
begin()
globals()[sys.argv[3]]()
print("done")
