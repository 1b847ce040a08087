# case: all layers
from torchao.float8 import Float8LinearConfig, convert_to_float8_training
config = Float8LinearConfig.from_recipe_name("rowwise")
model = convert_to_float8_training(model, config=config)  # finds note
for x in loader:
    model(x).mean().backward()
# case: those that a filter takes
from torchao.float8 import convert_to_float8_training

def is_inner(module, name):
    return name != "output"

convert_to_float8_training(model, module_filter_fn=is_inner)
loss.backward()
