"""What the generated catalogue sells: kinds of products, and what can be chosen of them.

Tables of the generator, made up for it. One line an entry, its parts between bars.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of product."""

    category: str
    query: str
    """What shoppers look for it with, as the real shop names its departments."""
    path: str
    """Where it stands in the shop, under the department."""
    nouns: tuple[str, ...]
    """What titles call it."""
    it: str
    """What sentences call one of it."""
    asked: str
    """What shoppers call it, with the article."""
    styles: tuple[str, ...]
    price: tuple[float, float]
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    """Keys of CHOICES."""


DEPARTMENTS = {
    "beauty": "Beauty & Personal Care",
    "electronics": "Electronics",
    "fashion": "Clothing, Shoes & Jewelry",
    "garden": "Home & Kitchen",
    "grocery": "Grocery & Gourmet Food",
}

_KINDS = """
beauty|Shampoo & Conditioner|Hair Care › Shampoo & Conditioner › Shampoos|Shampoo;Shampoo and Conditioner Set;Clarifying Shampoo|shampoo|a shampoo|Daily;Repair;Volumizing;Herbal|8-42|sulfate free,paraben free,cruelty free,coconut oil,argan oil,tea tree,hyaluronic acid,damaged hair,dry hair,hair growth|bottle,scent
beauty|Hair Masks|Hair Care › Hair Masks|Hair Mask;Deep Conditioning Mask;Keratin Hair Mask|hair mask|a hair mask|Intense;Nourishing;Overnight|9-55|paraben free,sulfate free,argan oil,shea butter,coconut oil,damaged hair,dry hair,hair growth,natural ingredients|bottle
beauty|Lips Makeup|Makeup › Lips › Lipstick|Lipstick;Liquid Lipstick;Lip Gloss;Lip Stain|lipstick|a lipstick|Matte;Velvet;Glossy|5-24|long lasting,cruelty free,highly pigmented,easy apply,water resistant,paraben free,shea butter|shade
beauty|Makeup Palettes|Makeup › Makeup Palettes|Eyeshadow Palette;Makeup Palette;Nude Eye Palette|palette|a makeup palette|Shimmer;Matte;Sunset;Smoky|8-45|highly pigmented,long lasting,cruelty free,easy apply,easy carry,water resistant,eye shadow|palette
beauty|Makeup Brushes & Tools|Makeup › Makeup Brushes & Tools › Brush Sets|Makeup Brush Set;Foundation Brush;Eye Brushes Kit|brush set|a makeup brush set|Professional;Vegan;Pastel|6-35|cruelty free,high quality,easy clean,easy carry,eye shadow,rose gold,sensitive skin|brushes,color_b
beauty|Skin Care Tools|Tools & Accessories › Skin Care Tools › Face Rollers|Face Roller;Facial Cleansing Brush;Gua Sha Set|face tool|a facial skin care tool|Jade;Sonic;Ice|7-49|easy use,easy clean,water resistant,anti aging,stainless steel,fine lines,dark circles,sensitive skin,rechargeable|color_b
beauty|Body Care|Skin Care › Body › Moisturizers › Body Butters|Body Butter;Body Lotion;Body Scrub|body cream|a body cream|Whipped;Rich;Smoothing|7-38|paraben free,cruelty free,dermatologist tested,fragrance free,clinically proven,oil free,shea butter,aloe vera,coconut oil,dry skin,dead skin,sensitive skin|bottle,scent
beauty|Foot, Hand & Nail Care|Foot, Hand & Nail Care › Tools & Accessories|Pedicure Kit;Electric Foot File;Nail Drill Set|nail care set|a foot and nail care set|Salon;Cordless;10-in-1|9-48|easy use,easy clean,high quality,travel size,stainless steel,long handle,rechargeable,dead skin,nail polish,dry skin|color_b
beauty|Oral Care|Oral Care › Toothbrushes & Accessories|Electric Toothbrush;Toothbrush Set;Tongue Cleaner|toothbrush|a toothbrush set|Sonic;Bamboo;Soft Bristle|5-60|teeth whitening,bpa free,eco friendly,easy use,rechargeable,travel size,stainless steel,sensitive teeth,bad breath|pack,color_b
beauty|Refillable Containers|Tools & Accessories › Bags & Cases › Refillable Containers|Travel Bottles;Spray Bottles;Pump Dispenser Bottles;Cream Jars|bottle set|a set of refillable containers|Silicone;Mini;Amber Glass|5-26|leak proof,bpa free,travel size,easy carry,easy clean,non toxic,high quality|bottles,color_b
beauty|Women's Fragrance|Fragrance › Women's › Eau de Parfum|Eau de Parfum;Perfume Spray;Body Mist|perfume|a women's fragrance|Floral;Vanilla;Citrus|12-96|long lasting,alcohol free,cruelty free,travel size,natural ingredients,sensitive skin|perfume
beauty|Shave & Hair Removal|Shave & Hair Removal › Women's › Razors|Facial Razor;Epilator;Bikini Trimmer;Eyebrow Trimmer|trimmer|a hair trimmer|Painless;Precision;2-in-1|8-64|easy use,easy clean,high quality,rechargeable,non slip,stainless steel,rose gold,sensitive skin|color_b
electronics|Bluetooth Headsets|Headphones › Earbud Headphones|Wireless Earbuds;Bluetooth Headset;Sport Headphones|headset|a pair of earbuds|True;In-Ear;Over-Ear|15-140|wireless bluetooth,noise cancelling,hands free,fast charging,water resistant,light weight,stereo sound,volume control,carrying case,gym workout,video calls|color_e
electronics|Portable Bluetooth Speakers|Portable Audio & Video › Portable Speakers & Docks › Portable Bluetooth Speakers|Bluetooth Speaker;Portable Speaker;Party Speaker|speaker|a bluetooth speaker|Mini;Outdoor;RGB|14-160|wireless bluetooth,water resistant,dust proof,hands free,heavy duty,stereo sound,usb port,high performance|color_e
electronics|Screen Protectors|Cell Phones & Accessories › Screen Protectors|Screen Protector;Privacy Screen Protector;Glass Film|screen protector|a screen protector|Full Coverage;Case Friendly;2-Pack|6-22|easy install,high definition,ultra hd,tempered glass,compatible apple,shock proof|phone,pack
electronics|Phone Cases|Cell Phones & Accessories › Cases, Holsters & Sleeves › Basic Cases|Phone Case;Protective Case;Wallet Case;Clear Cover|phone case|a phone case|Slim;Magnetic;Shiny|7-39|shock proof,light weight,non slip,wireless bluetooth,heavy duty,compatible apple,tempered glass,faux leather|phone,color_e
electronics|HDMI Cables|Accessories & Supplies › Cables › HDMI Cables|HDMI Cable;HDMI Cord;DisplayPort to HDMI Cable|cable|an hdmi cable|Braided;8K;Flat|6-45|high speed,gold plated,ultra hd,plug play,heavy duty,aluminum alloy,home theater|cable,pack
electronics|Power Strips & Chargers|Accessories & Supplies › Power › Chargers|USB C Charger;Power Bank;Charging Station;Wall Charger|charger|a usb charger|Compact;Foldable;4-Port|9-70|fast charging,easy carry,light weight,plug play,compatible apple,usb port,car charger,aluminum alloy|plugs,color_e
electronics|Security Cameras|Video Surveillance › Surveillance Cameras › Dome Cameras|Security Camera;Indoor Camera;Baby Monitor;Doorbell Camera|camera|a security camera|Wireless;Pan Tilt;Outdoor|22-190|high definition,easy install,plug play,water proof,night vision,motion detection,hands free,usb port|camera,color_e
electronics|Televisions & Video|Television & Video › Projectors|Mini Projector;Portable Projector;Projector Screen;4K Media Player|projector|a video projector|Smart;Pocket;Native 1080P|39-310|ultra hd,high definition,high performance,wireless bluetooth,remote control,stereo sound,home theater,carrying case|plugs,color_e
electronics|Remote Controls|Television & Video › Accessories › Remote Controls|Replacement Remote;Universal Remote Control;Voice Remote|remote|a replacement remote control|Backlit;Infrared;Learning|7-34|easy use,batteries included,plug play,high quality,long lasting,high performance|brandfit
electronics|Camera Lenses & Tripods|Camera & Photo › Tripods & Monopods › Complete Tripods|Camera Tripod;Phone Tripod;Ring Light Kit;Selfie Stick|tripod|a camera tripod|Flexible;Travel;67-Inch|13-118|easy carry,light weight,heavy duty,quick release,remote control,aluminum alloy,carrying case,video calls|color_e
electronics|USB Flash Drives|Computers & Accessories › Data Storage › USB Flash Drives|USB Flash Drive;Memory Stick;Micro SD Card|flash drive|a usb flash drive|Dual;Metal;Waterproof|6-60|high speed,plug play,water resistant,shock proof,easy carry,usb port,high performance,compatible apple|storage,color_e
electronics|Smartwatch Accessories|Wearable Technology › Smartwatch Accessories › Bands|Smart Watch Band;Replacement Strap;Watch Charger Cable|watch band|a smart watch band|Sport;Milanese;Woven|6-33|quick release,easy install,water resistant,compatible apple,stainless steel,faux leather,rose gold,daily wear|watch,color_f
fashion|Women's Dresses|Women › Clothing › Dresses › Casual|Maxi Dress;Wrap Dress;Midi Dress;Sundress;T-Shirt Dress|dress|a women's dress|Summer;Floral;Boho;Ruffle|15-68|machine washable,hand wash,loose fit,slim fit,long sleeve,short sleeve,elastic waist,polyester spandex,daily wear,button closure|size_w,color_f
fashion|Women's Tops, Tees & Blouses|Women › Clothing › Tops, Tees & Blouses › Tunics|Tunic Top;Blouse;Henley Shirt;Tank Top;V-Neck Tee|top|a women's top|Flowy;Striped;Lace|11-42|machine washable,loose fit,hand wash,long sleeve,short sleeve,button closure,cotton spandex,daily wear,teen girls|size_w,color_f
fashion|Women's Sweaters|Women › Clothing › Sweaters › Pullovers|Pullover Sweater;Cardigan;Turtleneck;Knit Sweater|sweater|a women's sweater|Chunky;Oversized;Ribbed|18-75|hand wash,machine washable,loose fit,super soft,long sleeve,button closure,cotton spandex,daily wear|size_w,color_f
fashion|Women's Pants|Women › Clothing › Pants › Casual|Yoga Pants;Wide Leg Pants;Leggings;Joggers|pair of pants|a pair of women's pants|Flare;Cropped;Linen|14-58|moisture wicking,tummy control,machine washable,quick drying,high waist,elastic waist,drawstring closure,polyester spandex,gym workout,daily wear|size_w,color_f
fashion|Women's Swimsuits & Cover Ups|Women › Clothing › Swimsuits & Cover Ups › One-Pieces|One Piece Swimsuit;Bikini Set;Swim Cover Up;Tankini|swimsuit|a women's swimsuit|Halter;Ruched;Tropical|16-52|tummy control,quick drying,hand wash,high waist,polyester spandex,teen girls,slim fit|size_w,color_f
fashion|Women's Sandals|Women › Shoes › Sandals|Platform Sandals;Slide Sandals;Wedge Sandals;Flat Sandals|pair of sandals|a pair of women's sandals|Beach;Espadrille;Rhinestone|16-79|open toe,slip resistant,light weight,day comfort,rubber sole,ankle strap,arch support,memory foam,daily wear|shoes_w,color_f
fashion|Women's Boots|Women › Shoes › Boots › Ankle & Bootie|Ankle Boots;Chelsea Boots;Snow Boots;Knee High Boots|pair of boots|a pair of women's boots|Suede;Chunky Heel;Western|29-135|slip resistant,closed toe,water proof,fleece lined,day comfort,rubber sole,faux fur,arch support,memory foam|shoes_w,color_f
fashion|Women's Slippers|Women › Shoes › Slippers|House Slippers;Bootie Slippers;Cloud Slippers|pair of slippers|a pair of women's slippers|Fuzzy;Cozy;Quilted|12-46|non slip,machine washable,super soft,open toe,closed toe,faux fur,memory foam,rubber sole,arch support|shoes_w,color_f
fashion|Men's Shirts|Men › Clothing › Shirts › Button-Down Shirts|Dress Shirt;Polo Shirt;Flannel Shirt;Hawaiian Shirt|shirt|a men's shirt|Plaid;Oxford;Linen;Solid|14-62|machine washable,slim fit,classic fit,moisture wicking,short sleeve,long sleeve,button closure,cotton spandex,daily wear|size_m,color_f
fashion|Men's T-Shirts & Tanks|Men › Clothing › Shirts › T-Shirts|Graphic Tee;Crewneck T-Shirt;Muscle Tank Top;Vintage Tee|t-shirt|a men's t-shirt|Funny;Retro;Distressed|10-34|machine washable,classic fit,light weight,quick drying,short sleeve,cotton spandex,gym workout,daily wear,moisture wicking|fit,size_m,color_f
fashion|Men's Shorts|Men › Clothing › Shorts|Cargo Shorts;Running Shorts;Gym Shorts;Board Shorts|pair of shorts|a pair of men's shorts|Athletic;Denim;7-Inch|13-45|quick drying,machine washable,moisture wicking,light weight,elastic waist,drawstring closure,polyester spandex,gym workout,daily wear|size_m,color_f
fashion|Men's Pants|Men › Clothing › Pants › Casual|Cargo Pants;Chino Pants;Sweatpants;Hiking Pants|pair of trousers|a pair of men's pants|Tapered;Tactical;Stretch|19-72|slim fit,classic fit,water resistant,quick drying,machine washable,elastic waist,drawstring closure,cotton spandex,daily wear|jeans,color_f
fashion|Men's Shoes|Men › Shoes › Fashion Sneakers|Sneakers;Walking Shoes;Loafers;Running Shoes|pair of shoes|a pair of men's shoes|Mesh;Canvas;Slip-On|25-120|slip resistant,light weight,day comfort,closed toe,rubber sole,arch support,memory foam,daily wear,gym workout|shoes_m,color_f
fashion|Men's Hoodies & Sweatshirts|Men › Clothing › Fashion Hoodies & Sweatshirts|Pullover Hoodie;Zip Up Hoodie;Crewneck Sweatshirt|hoodie|a men's hoodie|Heavyweight;Color Block;Tech|20-70|fleece lined,machine washable,loose fit,classic fit,long sleeve,drawstring closure,cotton spandex,gym workout,daily wear|size_m,color_f
garden|Living room Sets|Furniture › Living Room Furniture › Sofas & Couches|Sectional Sofa;Loveseat;Futon Sofa Bed;Accent Chair|sofa|a sofa|Tufted;Convertible;L-Shaped|139-980|mid century,easy assemble,high density,space saving,metal frame,storage space,faux leather,solid wood,living room,small spaces|color_h
garden|Coffee Tables|Furniture › Living Room Furniture › Tables › Coffee Tables|Coffee Table;Lift Top Coffee Table;Nesting Tables;Side Table|coffee table|a coffee table|Rustic;Round;Industrial|49-340|mid century,easy assemble,easy clean,heavy duty,solid wood,metal frame,storage space,tempered glass,living room,small spaces|color_h,table
garden|Console tables|Furniture › Living Room Furniture › Tables › Sofa & Console Tables|Console Table;Entryway Table;Sofa Table|console table|a console table|Narrow;Farmhouse;Two-Tier|59-420|easy assemble,space saving,heavy duty,solid wood,metal frame,storage space,adjustable shelves,living room,dining room|color_h,table
garden|Desks|Furniture › Home Office Furniture › Desks|Computer Desk;Standing Desk;Writing Desk;Gaming Desk|desk|a desk|Corner;Folding;Electric|69-460|height adjustable,easy assemble,space saving,heavy duty,easy clean,metal frame,storage space,solid wood,home office,small spaces|table,color_h
garden|Office Chairs|Furniture › Home Office Furniture › Chairs › Home Office Desk Chairs|Office Chair;Ergonomic Desk Chair;Task Chair|office chair|an office chair|Mesh;High Back;Swivel|75-390|height adjustable,easy assemble,heavy duty,high density,faux leather,metal frame,home office,memory foam|color_h
garden|Bookcases & Shelves|Furniture › Home Office Furniture › Bookcases|Bookshelf;Ladder Shelf;Corner Shelf;Floating Shelves|shelf|a bookshelf|5-Tier;Open;Geometric|29-260|wall mounted,easy assemble,easy install,space saving,heavy duty,solid wood,metal frame,adjustable shelves,living room,home office|shelf,color_h
garden|Beds & Bed frames|Furniture › Bedroom Furniture › Beds, Frames & Bases › Bed Frames|Platform Bed Frame;Daybed;Upholstered Bed;Bunk Bed|bed frame|a bed frame|Low Profile;Canopy;Wingback|119-720|easy assemble,heavy duty,mid century,space saving,solid wood,metal frame,storage space,faux leather,small spaces|bed,color_h
garden|TV Stands|Furniture › Living Room Furniture › Television Stands & Entertainment Centers|TV Stand;TV Console;Entertainment Center;Media Cabinet|tv stand|a tv stand|Floating;Farmhouse;LED|79-430|wall mounted,easy assemble,mid century,fully assembled,solid wood,storage space,tempered glass,adjustable shelves,living room|table,color_h
garden|Pendants and Chandeliers|Lighting & Ceiling Fans › Ceiling Lights › Chandeliers|Chandelier;Pendant Light;Semi Flush Mount Light;Vanity Light|light|a ceiling light|Crystal;Rattan;Modern|35-310|easy install,energy efficient,mid century,height adjustable,glass shade,bronze finish,metal frame,dining room,living room|finish,lights
garden|Table Lamps|Lighting & Ceiling Fans › Lamps & Shades › Table Lamps|Table Lamp;Bedside Lamp;Floor Lamp;Desk Lamp|lamp|a lamp|Ceramic;Touch;Arc|24-180|energy efficient,height adjustable,mid century,easy assemble,usb port,glass shade,bronze finish,living room,home office,remote control|finish
garden|Throw Pillow Covers|Bedding › Decorative Pillows, Inserts & Covers › Throw Pillow Covers|Throw Pillow Covers;Pillow Cases;Cushion Covers|pillow cover|a set of throw pillow covers|Velvet;Boho;Striped|9-38|super soft,machine washable,double sided,fade resistant,eco friendly,faux fur,living room,hand wash|pillow,color_h
garden|Throw Blankets|Bedding › Blankets & Throws › Throws|Throw Blanket;Sherpa Blanket;Weighted Blanket|blanket|a throw blanket|Flannel;Waffle;Knitted|14-76|super soft,machine washable,double sided,fade resistant,light weight,faux fur,living room,high quality|blanket,color_h
garden|Area Rugs|Home Décor Products › Rugs, Pads & Protectors › Area Rugs|Area Rug;Runner Rug;Shag Rug;Round Rug|rug|an area rug|Persian;Moroccan;Washable|25-310|non slip,easy clean,machine washable,super soft,fade resistant,living room,dining room,high density|rug,color_h
garden|Candles|Home Décor Products › Candles & Holders › Candles|Scented Candle;Candle Gift Set;Pillar Candles|candle|a scented candle|3-Wick;Aromatherapy;Handmade|9-48|long lasting,lead free,eco friendly,non toxic,soy wax,gift set,natural ingredients,living room|scent,pack
grocery|Candy & Chocolate|Snacks & Sweets › Chocolate & Candy|Dark Chocolate Bars;Chocolate Truffles;Gummy Candy;Caramels|candy|some candy|Assorted;Artisan;Sour|6-48|chocolate covered,individually wrapped,gluten free,non gmo,kosher certified,sugar free,nut free,old fashioned,gift set,valentine day,artificial flavors|sweet,grocerypack
grocery|Granola & Nutrition Bars|Breakfast Foods › Granola & Nutrition Bars|Protein Bars;Granola Bars;Nut Bars|bar|a box of nutrition bars|Chewy;Crunchy;Baked|9-42|gluten free,non gmo,plant based,keto friendly,low carb,dairy free,individually wrapped,high protein,dietary fiber,artificial flavors|sweet,count
grocery|Dried Fruits & Raisins|Produce › Dried Fruits & Vegetables|Dried Mango;Freeze-Dried Strawberries;Raisins;Fruit Chips|dried fruit|dried fruit|Unsweetened;Sun-Ripened;Crispy|7-40|freeze dried,non gmo,gluten free,usda organic,sugar free,ready eat,kosher certified,real fruit,resealable bag,dietary fiber,natural ingredients|weight,grocerypack
grocery|Nuts & Seeds|Snacks & Sweets › Nuts & Seeds|Roasted Almonds;Cashews;Trail Mix;Pistachios|snack|a bag of nuts|Honey;Lightly Salted;Smoked|9-52|gluten free,non gmo,keto friendly,low sodium,kosher certified,plant based,resealable bag,high protein,dietary fiber,quality ingredients|savory,weight
grocery|Chips & Crackers|Snacks & Sweets › Chips & Crisps|Tortilla Chips;Veggie Crisps;Seed Crackers;Popcorn|snack|a bag of chips|Kettle;Baked;Stone Ground|4-34|gluten free,non gmo,low carb,plant based,nut free,low sodium,certified organic,artificial flavors,dietary fiber|savory,grocerypack
grocery|Coffee|Beverages › Coffee, Tea & Cocoa › Coffee|Ground Coffee;Coffee Pods;Whole Bean Coffee;Instant Coffee|coffee|coffee|Dark Roast;Medium Roast;Breakfast Blend|8-56|usda organic,certified organic,caffeine free,kosher certified,non gmo,gift set,resealable bag,quality ingredients|coffee,count
grocery|Tea|Beverages › Coffee, Tea & Cocoa › Tea|Herbal Tea;Black Tea Bags;Matcha Powder;Loose Leaf Tea|tea|tea|Calming;Iced;Ceremonial|6-38|caffeine free,usda organic,certified organic,non gmo,kosher certified,green tea,individually wrapped,gift set,natural ingredients|tea,count
grocery|Meat Snacks|Snacks & Sweets › Meat Snacks|Beef Jerky;Turkey Sticks;Salami Bites|jerky|some jerky|Grass-Fed;Smoky;Zero Sugar|8-46|gluten free,keto friendly,low carb,sugar free,ready eat,individually wrapped,high protein,artificial flavors,resealable bag|savory,grocerypack
grocery|Baking Mixes|Cooking & Baking › Baking Mixes|Pancake Mix;Brownie Mix;Bread Mix;Cake Mix|baking mix|a baking mix|Fluffy;Fudge;Ancient Grain|6-36|gluten free,dairy free,plant based,keto friendly,low carb,nut free,non gmo,easy use,birthday party,quality ingredients|sweet,grocerypack
grocery|Sauces & Dips|Pantry Staples › Sauces, Gravies & Marinades|Hot Sauce;Pasta Sauce;Barbecue Sauce;Curry Paste|sauce|a sauce|Chunky;Slow Cooked;Fiery|5-33|gluten free,non gmo,low sodium,sugar free,plant based,dairy free,natural ingredients,artificial flavors,gift set|savory,grocerypack
grocery|Milk Alternatives|Beverages › Bottled Beverages › Plant-Based Milks|Almond Milk;Oat Milk;Coconut Creamer;Soy Milk|milk|plant milk|Barista;Unsweetened;Vanilla|6-44|dairy free,plant based,gluten free,non gmo,nut free,certified organic,sugar free,kosher certified,quality ingredients|grocerypack,milk
grocery|Breakfast Cereals|Breakfast Foods › Cereals|Granola;Oatmeal Cups;Muesli;Crunchy Cereal|cereal|a breakfast cereal|Toasted;Maple;Overnight|5-38|gluten free,non gmo,usda organic,dairy free,old fashioned,low carb,high protein,dietary fiber,real fruit,artificial flavors|sweet,weight
"""


def _kind(line: str) -> Kind:
    category, query, path, nouns, it, asked, styles, price, attributes, options = line.split("|")
    low, high = price.split("-")
    return Kind(
        category,
        query,
        f"{DEPARTMENTS[category]} › {path}",
        tuple(nouns.split(";")),
        it,
        asked,
        tuple(styles.split(";")),
        (float(low), float(high)),
        tuple(attributes.split(",")),
        tuple(options.split(",")),
    )


KINDS = tuple(map(_kind, _KINDS.strip().splitlines()))


class Choice(NamedTuple):
    """Something to choose of a product: the name of the option, and what it can be."""

    name: str
    values: tuple[str, ...]
    ordered: bool
    """Whether a product has neighbouring values, as with sizes, rather than any."""
    fewest: int
    most: int


_CHOICES = """
size_w|Size|X-Small;Small;Medium;Large;X-Large;XX-Large;3X-Large|ordered|4-6
size_m|Size|Small;Medium;Large;X-Large;XX-Large;3X-Large;4X-Large|ordered|4-6
shoes_w|Size|5;5.5;6;6.5;7;7.5;8;8.5;9;9.5;10;7 Wide;8 Wide;9 Wide|ordered|4-8
shoes_m|Size|7;7.5;8;8.5;9;9.5;10;10.5;11;12;13;10 Wide;11 Wide|ordered|4-8
jeans|Size|28W x 30L;30W x 30L;30W x 32L;32W x 30L;32W x 32L;34W x 32L;36W x 32L;38W x 34L|ordered|4-6
fit|Fit Type|Men;Women;Youth|any|2-3
color_f|Color|Black;White;Navy;Dark Navy;Heather Grey;Wine Red;Army Green;Royal Blue;Light Blue;Pink;Hot Pink;Khaki;Beige;Apricot;Purple;Yellow;A-Black;B-Khaki;Black/White;Leopard;Tie Dye;Washed Denim;Rose Gold;Coffee;Burgundy;Sage Green;Mustard;Turquoise|any|3-8
color_b|Color|Pink;White;Black;Rose Gold;Purple;Blue;Mint Green;Gold;Clear;Light Pink|any|2-5
color_e|Color|Black;White;Space Gray;Silver;Blue;Midnight Blue;Red;Rose Gold;Carbon Black;Mint;Black/Red|any|2-5
color_h|Color|Grey;Dark Grey;Beige;Ivory;Navy Blue;Brown;Rustic Brown;Walnut;Natural Oak;White;Black;White/Gold;Teal;Sage;Rust;Espresso;Antique White;Charcoal|any|2-6
finish|Color|Brushed Nickel;Black;Antique Brass;Bronze;Chrome;Gold;Matte Black;White|any|2-4
shade|Color|01 Nude;02 Rosewood;03 Brick Red;04 Mauve;05 Coral;06 Berry;07 Wine;08 Peach;09 Cherry;10 Caramel|ordered|4-8
palette|Color|Set A;Set B;Set C;Nude;Sunset;Galaxy;Rose|any|2-4
bottle|Size|3.4 Fl Oz (Pack of 1);8 Fl Oz (Pack of 1);8 Fl Oz (Pack of 2);13.5 Fl Oz (Pack of 1);16.9 Fl Oz (Pack of 1);16.9 Fl Oz (Pack of 3);33.8 Fl Oz (Pack of 1)|ordered|2-5
perfume|Size|0.33 Fl Oz (Pack of 1);1 Fl Oz (Pack of 1);1.7 Fl Oz (Pack of 1);3.4 Fl Oz (Pack of 1);3.4 Fl Oz + 0.33 Fl Oz|ordered|2-4
bottles|Size|30ml;50ml;100ml;120ml;250ml;4 Piece Set|ordered|2-4
brushes|Size|5 Piece Set;8 Piece Set;12 Piece Set;18 Piece Set|ordered|2-3
scent|Scent|Lavender;Vanilla;Coconut;Eucalyptus Mint;Citrus;Unscented;Rose;Sandalwood;Sea Salt;Fresh Linen;Ocean/Breeze|any|2-6
pack|Size|1 Pack;2 Pack;3 Pack;4 Pack;6 Pack;10 Pack|ordered|2-4
phone|Size|iPhone 11;iPhone 12;iPhone 12 Pro;iPhone 13;iPhone 13 Pro;iPhone 13 Pro Max;Galaxy S21;Galaxy S21 Ultra;Galaxy S22;Pixel 6|ordered|3-7
cable|Size|1.5 Feet;3 Feet;6 Feet;10 Feet;15 Feet;25 Feet;50 Feet|ordered|3-6
plugs|Style|US Plug;UK Plug;EU Plug;AU Plug|ordered|2-4
camera|Style|1 Camera;2 Cameras;3 Cameras;1 Camera + 64GB Card;Solar Panel Kit|ordered|2-4
storage|Size|16GB;32GB;64GB;128GB;256GB;512GB|ordered|3-5
brandfit|Style|32-43 Inch TVs;Soundbars;DVD Players;Streaming Boxes;All Models|any|2-3
watch|Size|38mm/40mm/41mm;42mm/44mm/45mm;20mm;22mm|ordered|2-4
table|Size|31.5 Inch;39 Inch;43 Inch;47 Inch;55 Inch;63 Inch;60" L x 12" W x 31" H|ordered|2-4
shelf|Size|2-Tier;3-Tier;4-Tier;5-Tier;6-Tier;Set of 3|ordered|2-4
bed|Size|Twin;Twin XL;Full;Queen;King;California King|ordered|3-5
lights|Size|1-Light;3-Light;5-Light;6-Light;8-Light|ordered|2-4
pillow|Size|12x20 Inch (Pack of 2);16x16 Inch (Pack of 2);18x18 Inch (Pack of 2);18x18 Inch (Pack of 4);20x20 Inch (Pack of 2);24x24 Inch (Pack of 1)|ordered|2-5
blanket|Size|Throw (50 x 60 Inches);Twin (60 x 80 Inches);Queen (80 x 90 Inches);King (90 x 108 Inches)|ordered|2-4
rug|Size|2' x 3';2' x 8';4' x 6';5' x 8';6' Round;8' x 10';9' x 12'|ordered|3-6
sweet|Flavor Name|Dark Chocolate;Peanut Butter;Cookies & Cream;Salted Caramel;Vanilla Almond;Strawberry;Mint;Blueberry;Maple Pecan;Variety Pack|any|2-6
savory|Flavor Name|Original;Sea Salt;Spicy;Garlic & Herb;Teriyaki;Smoky BBQ;Lime/Chili;Black Pepper;Sour Cream & Onion;Variety Pack|any|2-6
coffee|Flavor Name|House Blend;French Roast;Hazelnut;Decaf;Colombian;Mocha;Vanilla|any|2-5
tea|Flavor Name|Chamomile;Peppermint;Ginger Lemon;Earl Grey;Hibiscus;Rooibos;Jasmine|any|2-5
milk|Flavor Name|Original;Vanilla;Unsweetened Vanilla;Chocolate|any|2-3
count|Size|6 Count (Pack of 1);12 Count (Pack of 1);12 Count (Pack of 6);24 Count (Pack of 1);40 Count (Pack of 2);100 Count (Pack of 1)|ordered|2-4
weight|Size|4 Ounce (Pack of 1);8 Ounce (Pack of 1);8 Ounce (Pack of 3);1 Pound (Pack of 1);2 Pound (Pack of 1);5 Pound (Pack of 1)|ordered|2-4
grocerypack|Size|Pack of 1;Pack of 2;Pack of 3;Pack of 6;Pack of 12|ordered|2-4
"""


def _choice(line: str) -> tuple[str, Choice]:
    key, name, values, order, count = line.split("|")
    fewest, most = count.split("-")
    return key, Choice(name, tuple(values.split(";")), order == "ordered", int(fewest), int(most))


CHOICES = dict(map(_choice, _CHOICES.strip().splitlines()))
