// A job of ONNX Runtime in Node.js, for onnxruntime_probe.sh: onnxruntime_job.js MODEL [OPTION=VALUE]. Prints the same with and without tacho.
const ort = require("onnxruntime-node");

async function main() {
  const session = await ort.InferenceSession.create(process.argv[2]);
  const x = new ort.Tensor("float32", Float32Array.from([0, 1, 2, 3, 4, 5]), [2, 3]);
  for (let i = 0; i < 10; i++) {
    const results = await session.run({ x });
    console.log(Array.from(results.y.data).join(" "));
  }
  try {
    await session.run({ x: new ort.Tensor("float32", new Float32Array(1), [1]) });
  } catch (error) {
    console.log("refused");
  }
  await session.release();
}

main();
