# Names of kernels in the page are short as in the text, and whole on hover.
"$TACHO" --version | grep -q 'with:.*html export' || exit 77
export PYTHONPATH=$TACHO_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null && command -v chromium >/dev/null || exit 77
python3 -c 'import browser, sys; sys.exit(not browser.can_start())' || exit 77
cat >trace.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":10,"dur":20},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":12,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":18,"dur":5,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":24,"dur":5,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"void at::native::reduce_kernel<4, Sum<float> >(Sum<float>)","pid":0,"tid":7,"ts":30,"dur":60,"args":{"correlation":1,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"void at::native::reduce_kernel<4, Max<float> >(Max<float>)","pid":0,"tid":7,"ts":100,"dur":50,"args":{"correlation":2,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"__proto__","pid":0,"tid":7,"ts":200,"dur":40,"args":{"correlation":3,"device":0,"stream":7}}]}
END
"$TACHO" export trace.json --to html -o trace.html 2>/dev/null
cat >look.py <<'PYTHON'
import os
from browser import Browser

with Browser() as browser:
    page = browser.open(f"file://{os.getcwd()}/trace.html")
    print(page.evaluate("""(() => { tacho.showTable("kernel");
        return [...document.querySelectorAll('#tables .card tbody td[data-key="name"]')].map(cell =>
            cell.textContent + " | " + (cell.title || cell.querySelector("[title]")?.title || "")).join("\\n"); })()"""))
    print("complaints", page.complaints)
PYTHON
python3 look.py
"$TACHO" report trace.json --view kernel | grep -o '^reduce_kernel<[^ ]*\|^__proto__'
