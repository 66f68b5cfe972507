graph [ directed 1
 node [ id 0 label "conv0_fwd" ]
 node [ id 1 label "dense0_fwd" ]
 edge [ source 0 target 1 ] ]
