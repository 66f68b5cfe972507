graph [
  directed 1
  node [
    id 0
    label "net/conv1/Conv2D"
  ]
  node [
    id 7
    label "gradient_tape/net/conv1/MatMul"
  ]
  node [ id 8 label "Comm.0" ]
  edge [
    source 0
    target 7
  ]
  edge [ source 7 target 8 ]
]
